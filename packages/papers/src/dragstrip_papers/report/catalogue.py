"""Lists the figures of each paper."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import polars as pl
from msgspec import Struct, structs

from dragstrip.model.stack import Stack
from dragstrip.model.visit import Visit
from dragstrip.report.data.beside import beside
from dragstrip.results.capsule import Capsule
from dragstrip_papers.cells import Where
from dragstrip_papers.claims import Published
from dragstrip_papers.digitised import digitised
from dragstrip_papers.measured import Evidence
from dragstrip_papers.report import boxes, cdfs, counts, maps, objects, published, ratios, trees
from dragstrip_papers.report.style import Figure
from dragstrip_papers.scenarios import Tree

PAINT = {
    "visual_fvc_ms": "FVC",
    "visual_speed_index_ms": "SI",
    "visual_vc85_ms": "VC85",
    "visual_lvc_ms": "LVC",
    "plt_ms": "PLT",
}
ANOVA_PAIRS = (("TCP+", "TCP"), ("TCP+BBR", "TCP"), ("QUIC", "TCP+"), ("QUIC+BBR", "TCP+BBR"))
SINGLE_HOST: Where = {"page": ["*gnu*", "*wikipedia*"]}
"""The pages of wolsing2019's table 3."""


class Sources(Struct, frozen=True):
    """The data for a paper's figures."""

    paper: Published
    evidence: Evidence
    stacks: dict[str, Stack]
    """All stacks of the paper's studies, by name, in their order."""
    capsules: tuple[Path, ...] = ()

    def visits(self, page: str, network: str) -> Iterator[Visit]:
        """Yield all visits of a page and network."""
        for folder in self.capsules:
            for visit in Capsule.open(folder).visits():
                if (visit.page, visit.network) == (page, network):
                    yield visit

    def pick(self, *names: str) -> list[Stack]:
        return [self.stacks[name] for name in names]


def drawn(sources: Sources) -> list[Figure]:
    """Draw the figures that have loads, with notes about their stacks."""
    said = beside(list(sources.stacks.values()))
    return [
        structs.replace(found, caption=" ".join((found.caption, *said)))
        for found in _DRAW[sources.paper.key](sources)
        if found
    ]


def _biswal(s: Sources) -> Iterator[Figure | None]:
    h2, quic = s.pick("h2-full", "QUIC")
    made = s.evidence.loads.filter(~pl.col("standin"))
    sites = s.evidence.loads.filter(pl.col("standin"))
    metric = "network_plt_ms"
    grid = made.filter(pl.col("network").str.starts_with("grid-"))
    yield ratios.ratio_map(
        made, h2, quic, metric, "ratio-map", "Who is faster, over the whole space"
    )
    yield ratios.ratio_map(sites, h2, quic, metric, "ratio-map-sites", "Who is faster on sites")
    yield ratios.bars(grid, h2, quic, metric)
    yield objects.object_loads(s.visits("biswal2016-128x1KB", "grid-1M-200ms-0"), [h2, quic])
    yield maps.factor_map(grid, [h2, quic], metric)
    yield maps.welch(grid, h2, quic, "plt_ms")


def _megyesi(s: Sources) -> Iterator[Figure | None]:
    stacks = list(s.stacks.values())
    claimed = next(c.predicate for c in s.paper.claims if isinstance(c.predicate, Tree))
    yield published.load_times(s.evidence.loads, digitised("megyesi2016"), stacks)
    yield trees.published(claimed, s.evidence)
    yield trees.own(claimed, s.evidence)
    yield maps.factor_map(s.evidence.loads, stacks, "plt_ms")
    yield cdfs.load_times(s.evidence.loads, stacks, "As figures 4 to 7 of the paper.")


def _cook(s: Sources) -> Iterator[Figure | None]:
    stacks = list(s.stacks.values())
    own = s.evidence.loads
    spread = pl.col("network") == "servers"
    access = pl.col("network").is_in(["adsl", "adsl-busy", "4g"])
    yield boxes.boxes(
        own.filter(~spread & ~access),
        stacks,
        "boxes",
        "Load times under delay and loss",
        "As figures 3 to 6, 9 and 10 of the paper.",
    )
    yield boxes.boxes(
        own.filter(access), stacks, "boxes-access", "ADSL and 4G", "As figures 7 and 8."
    )
    yield boxes.boxes(
        own.filter(spread),
        stacks,
        "boxes-servers",
        "One page on several servers",
        "As figures 11 to 13.",
    )
    yield maps.factor_map(
        own.filter(~spread & ~access), s.pick("h1-TLS1.2", "TCP-TLS1.2", "QUIC"), "plt_ms"
    )


def _wolsing(s: Sources) -> Iterator[Figure | None]:
    stacks = list(s.stacks.values())
    parity = pl.col("network") == "parity"
    sites = Evidence(s.evidence.loads.filter(~parity))
    yield cdfs.gains(
        sites, stacks, "TCP", {m: PAINT[m] for m in ("visual_speed_index_ms", "plt_ms")}
    )
    yield counts.anova(sites, ANOVA_PAIRS, PAINT)
    yield counts.one_rtt(sites, SINGLE_HOST, PAINT)
    yield boxes.boxes(
        s.evidence.loads.filter(parity),
        stacks,
        "boxes-parity",
        "Are the servers equally fast?",
        "Single files without a limit of rate. As figure 2 of the paper.",
    )
    yield maps.factor_map(sites.loads, s.pick("TCP+", "QUIC"), "visual_speed_index_ms")
    yield maps.welch(sites.loads, s.stacks["TCP+"], s.stacks["QUIC"], "plt_ms")


def _ranjan(s: Sources) -> Iterator[Figure | None]:
    h2, quic = stacks = s.pick("h2", "QUIC")
    yield cdfs.load_times(s.evidence.loads, stacks, "The paper draws 64 of these.")
    yield maps.factor_map(s.evidence.loads, stacks, "plt_ms")
    yield maps.welch(s.evidence.loads, h2, quic, "plt_ms")


def _literature(s: Sources) -> Iterator[Figure | None]:
    h2, quic = s.pick("h2-full", "QUIC")
    grid = s.evidence.loads.filter(pl.col("network").str.starts_with("kakhki-"))
    conditions = s.evidence.loads.filter(pl.col("study") == "literature-conditions")
    yield published.heat_maps(grid, digitised("literature"), h2, quic, "plt_ms")
    yield maps.welch(grid, h2, quic, "plt_ms")
    yield cdfs.load_times(grid, [h2, quic], "The grid of Kakhki et al., figures 6 and 8.")
    yield boxes.boxes(
        conditions,
        s.pick("h1", "h2", "h3"),
        "boxes-conditions",
        "Good and bad paths",
        "Paths of our choice, for what several sources say in words.",
    )


_DRAW: dict[str, Callable[[Sources], Iterable[Figure | None]]] = {
    "biswal2016": _biswal,
    "megyesi2016": _megyesi,
    "cook2017": _cook,
    "wolsing2019": _wolsing,
    "ranjan2019": _ranjan,
    "literature": _literature,
}
