"""Where QUIC's gain over stock HTTP/2 comes from, over pages and networks: docs/results/why.md.

    uv run python packages/papers/bench/why_pages.py CAPSULE... docs/results/why

Each capsule is made by `dragstrip why` from h2 to QUIC over one network; see the page for the
commands. Writes NAME.md and NAME.svg.
"""

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from statistics import fmean

from msgspec import Struct

from dragstrip.model.bridge import BuiltBridge
from dragstrip.model.network import Network
from dragstrip.report.figures.factor_bars import WIDTH, drawing
from dragstrip.report.words.why import notes, place, sentence, span
from dragstrip.results.capsule import JOURNAL, Capsule
from dragstrip.results.compare.attribution import Pooled, Why, WhyCell, why
from dragstrip.results.observed import Observed, observed
from dragstrip.results.tables.build import refresh, scan
from dragstrip_papers.claims import published
from dragstrip_papers.provenance import command, made_by

TCP_PLUS = frozenset({"window", "pacing", "tcp"})
"""What wolsing2019's TCP+ changes of stock TCP."""
TABLE_3 = {
    "DSL": "wolsing2019-43",
    "LTE": "wolsing2019-47",
    "DA2GC": "wolsing2019-55",
    "MSS": "wolsing2019-51",
}
"""The paper's page load time of wikipedia.org, as a claim."""
CAVEATS = (
    "Computing takes no time here, so only network and timers shape a load. The pages are",
    "eleven recordings of 2018, equally weighted. The intervals are over pages: they say how much",
    "another page may differ, not how exact a row is. Rows of single pages rest on few blocks:",
    "over DSL, whose queue holds 12 ms, and where packets are lost, chance affects them too.",
    "",
)


class Raced(Struct, frozen=True):
    """What one capsule answers."""

    capsule: Capsule
    network: Network
    answer: Why
    seen: dict[str, Observed]
    """Observations by page, over this network as it is."""

    @property
    def pooled(self) -> Pooled:
        (found,) = self.answer.pooled
        return found


def main() -> None:
    *folders, target = map(Path, sys.argv[1:])
    every = [read(Capsule.open(folder)) for folder in folders]
    target.with_suffix(".svg").write_text(picture(every))
    target.with_suffix(".md").write_text("\n".join([*page(every, target.name), ""]))


def read(capsule: Capsule) -> Raced:
    study = capsule.manifest.study
    refresh(capsule)
    table, network = scan(capsule, "visits"), study.networks[0]
    seen = {one.page: one for one in observed(study, table) if one.network == network.name}
    return Raced(capsule, network, why(study, table), seen)


def picture(every: Sequence[Raced]) -> str:
    """Draw the figures below each other, each at its own height."""
    rows, top = [], 0
    for raced in every:
        svg = drawing(raced.answer, raced.pooled)
        height = int(svg.partition(f'viewBox="0 0 {WIDTH} ')[2].partition('"')[0])
        rows.append(svg.replace("<svg ", f'<svg y="{top}" height="{height}" ', 1))
        top += height + 20
    size = f'viewBox="0 0 {WIDTH} {top}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{"".join(rows)}</svg>\n'


def page(every: Sequence[Raced], name: str) -> Iterator[str]:
    yield "# Where QUIC's gain over stock HTTP/2 comes from"
    yield ""
    yield f"![A waterfall for each network, from h2 to QUIC]({name}.svg)"
    yield ""
    for raced in every:
        yield f"- {sentence(raced.answer, raced.pooled)}"
    yield ""
    yield from CAVEATS
    yield from shares(every)
    for raced in every:
        yield from by_page(raced)
    yield from one_round_trip(every)
    yield from made(every)


def shares(every: Sequence[Raced]) -> Iterator[str]:
    yield "Page load time after / before each change, geometric mean over pages, 95 % over pages:"
    yield ""
    yield f"| changed | {' | '.join(raced.network.name for raced in every)} |"
    yield "|---" * (len(every) + 1) + "|"
    factors = {p.factor: p.words for raced in every for p in raced.pooled.parts}
    for factor, words in factors.items():
        found = [
            next((span(p) for p in raced.pooled.parts if p.factor == factor), "-")
            for raced in every
        ]
        yield f"| {words} | {' | '.join(found)} |"
    rest = [span(raced.pooled.unexplained) for raced in every]
    yield f"| unexplained | {' | '.join(rest)} |"
    yield f"| **QUIC / h2** | {' | '.join(span(raced.pooled) for raced in every)} |"
    yield ""


def by_page(raced: Raced) -> Iterator[str]:
    cells = sorted(raced.answer.cells, key=lambda cell: cell.ratio)
    parts = cells[0].parts
    yield f"## {place(raced.answer, raced.pooled)}, page by page"
    yield ""
    yield f"| page | h2, s | QUIC, s | QUIC / h2 | {' | '.join(p.words for p in parts)} | rest |"
    yield "|---" * (5 + len(parts)) + "|"
    for cell in cells:
        own = {p.factor: f"{p.ratio:.3f}" for p in cell.parts}
        found = " | ".join(own[p.factor] for p in parts)
        times = f"{cell.value_a / 1000:.3f} | {cell.value_b / 1000:.3f} | {cell.ratio:.3f}"
        yield f"| {cell.page} | {times} | {found} | {cell.unexplained.ratio:.3f} |"
    yield ""


def one_round_trip(every: Sequence[Raced]) -> Iterator[str]:
    yield "## Beside wolsing2019's correction by one round trip"
    yield ""
    yield "Its Table 3 takes one round trip off TCP+ and looks at what is left of QUIC's gain."
    yield "Here that round trip was held back from QUIC, too, so what it costs is measured."
    yield "The first column is the table's own figure; the last is what it would say if it took off"
    yield "what the round trip did cost. All are in round trips of page load time, means over pages"
    yield "(least to most). The paper's recording of wikipedia.org is not ours."
    yield ""
    yield (
        "| network | QUIC - (TCP+ - 1 RTT) | what the round trip costs QUIC | QUIC a round trip "
        "late - TCP+ | wikipedia: first column | wikipedia in the paper |"
    )
    yield "|---" * 6 + "|"
    papers = {claim.id: claim.published for claim in published("wolsing2019").claims}
    for raced in every:
        lines = [round_trips(raced, cell) for cell in raced.answer.cells]
        columns = [spread(column) for column in zip(*lines, strict=True)]
        wiki = next(
            line[0]
            for line, cell in zip(lines, raced.answer.cells, strict=True)
            if cell.page == "wikipedia"
        )
        paper = papers.get(TABLE_3.get(raced.network.name, ""), "-")
        yield f"| {raced.network.name} | {' | '.join(columns)} | {wiki:+.2f} | {paper} |"
    yield ""


def round_trips(raced: Raced, cell: WhyCell) -> tuple[float, float, float]:
    """The paper's figure, what a held round trip costs, and the figure corrected by that."""
    study = raced.capsule.manifest.study
    assert study.bridge
    bridge = BuiltBridge(study.bridge)
    seen = raced.seen[cell.page]

    def mean(node: frozenset[str]) -> float:
        return float(seen.of(bridge.stacks[node].name, "plt_ms").values.mean())

    rtt = raced.network.rtt_ms
    quic, tcp = mean(bridge.whole), mean(TCP_PLUS)
    late = mean(bridge.whole - {"handshake"})
    return (quic - tcp + rtt) / rtt, (late - quic) / rtt, (late - tcp) / rtt


def spread(values: Sequence[float]) -> str:
    return f"{fmean(values):+.2f} ({min(values):+.2f} to {max(values):+.2f})"


def made(every: Sequence[Raced]) -> Iterator[str]:
    yield "## How it was made"
    yield ""
    for raced in every:
        capsule, study = raced.capsule, raced.capsule.manifest.study
        yield f"    {command(capsule.manifest.starts[-1].command)}"
        yield ""
        visits = list(capsule.visits())
        said = f"{len(visits)} visits, {sum(not v.valid for v in visits)} invalid; "
        said += f"{hours(capsule):.1f} hours from the first visit to the last; {blocks(raced)}."
        answered = {cell.page for cell in raced.answer.cells}
        if missing := [p.name for p in study.pages if p.name not in answered]:
            codes = Counter(r.code for v in visits if v.page in missing for r in v.reasons)
            why_not = ", ".join(f"{code} {n}" for code, n in codes.most_common())
            said += f" Without an answer: {', '.join(missing)} ({why_not or 'not visited'})."
        yield said
        yield ""
        for how in made_by(capsule.manifest.starts):
            yield f"Made by {how}."
            yield ""
    yield f"{every[-1].capsule.manifest.starts[-1].browser_version}, in virtual time."
    yield ""
    for said in dict.fromkeys(line for raced in every for line in notes(raced.answer)):
        yield f"- {said}"


def hours(capsule: Capsule) -> float:
    """Hours from the start to the last visit, of this machine's time and not the guests'."""
    begun = datetime.fromisoformat(capsule.manifest.starts[0].started).timestamp()
    return ((capsule.path / JOURNAL).stat().st_mtime - begun) / 3600


def blocks(raced: Raced) -> str:
    """How many blocks count, by page."""
    counts = sorted({cell.n for cell in raced.answer.cells})
    span = " to ".join(map(str, counts[:: max(len(counts) - 1, 1)]))
    return f"{span} {'block' if counts == [1] else 'blocks'} a page"


if __name__ == "__main__":
    main()
