"""The load generator's error against Chromium: docs/reference/loader.md.

    uv run python bench/loader/error.py make FOLDER PAGE...            # all four steps' capsules
    uv run python bench/loader/error.py make FOLDER --browser CAPSULE  # predicts a capsule's visits
    uv run python bench/loader/error.py write FOLDER... [--kept]       # the page

`make` runs in virtual time, where computing takes none: Chromium on two networks, from which each
page's graph is learned; Chromium on all four; the load generator on all four by the learned graph,
and once more by the recording's structure alone. Links lose the same packets in all of them. A
folder that was begun is continued. Networks that need more blocks have a separate folder. If a cell
is in several folders, `write` takes the one with the most blocks. With `--browser` the second step
is there already: the capsule of a study in virtual time, such as one that answers a paper. With
`--computing` computing takes time on both sides; such cells have a separate table. `--kept` takes
cells of docs/reference/loader.json, too, as long as no folder has them.
"""

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import sqrt
from pathlib import Path
from statistics import mean, median
from typing import Literal

import altair as alt
import msgspec
from error_words import graphs_text, page_text
from msgspec import Struct, structs
from page_graph import rows

from dragstrip.conduct.options import RunOptions
from dragstrip.conduct.visits import make_visits
from dragstrip.model.browsers import LOADER
from dragstrip.model.clock import NETWORK, Clock
from dragstrip.model.errors import InputError
from dragstrip.model.study import Client, Study
from dragstrip.pages.corpus import STAND_IN
from dragstrip.pages.graph.store import with_graph
from dragstrip.results.capsule import Capsule
from dragstrip.results.learn import learn
from dragstrip.study.clients import study_by
from dragstrip.study.presets import find_network, find_stack
from dragstrip.study.spec import StudySpec
from dragstrip.testbed.cache import cache_folder
from dragstrip_papers.stats.prediction import Errors, Ratios, errors, ratios

DOCS = Path(__file__).parents[2] / "docs" / "reference"
PACKAGED = Path(__file__).parents[2] / "src" / "dragstrip" / "study" / "loader_error.json"
TAUGHT_ON = ("LTE", "DSL")
NETWORKS = ("LTE", "DSL", "DA2GC", "MSS")
TAUGHT_BY = ("h1", "h2", "h3")
STACKS = ("h1", "h2", "h3", "TCP+", "QUIC")
PAIRS = (("h2", "h3"), ("TCP", "QUIC"), ("TCP+", "QUIC"), ("TCP+BBR", "QUIC+BBR"), ("h1", "h2"))
RUNS = 2
BODILESS = ", without bodies"
"""How the source of a page ends of which only names and sizes were recorded."""


Overflow = Literal["no queue", "the queue down", "the queue up"]
Kind = Literal["recordings", "HARs", "stand-ins"]
Key = tuple[str, str, str]
"""Page, network and stack."""


class Cell(Struct, frozen=True, kw_only=True):
    """A page over a network with a stack: medians over blocks, in ms."""

    page: str
    kind: Kind
    network: str
    stack: str
    browser: float
    loader: float
    structure: float | None
    """Time by the load generator, without having seen a visit."""
    runs: int
    luck: float | None
    """How far a block of the browser's is from the median of its others, on average; None if there
    is one block."""
    overflow: Overflow
    """Which queue of the link was full in a load of the browser."""

    @property
    def key(self) -> Key:
        return self.page, self.network, self.stack

    @property
    def taught(self) -> bool:
        """The graph was learned on this network, with a stack of this protocol's."""
        return self.network in TAUGHT_ON and self.stack in TAUGHT_BY


class Found(Struct, frozen=True, kw_only=True):
    browser: str
    pages: int
    whole: Errors
    taught: Errors | None
    held_out: Errors | None
    structure: Errors | None
    by_network: dict[str, Errors]
    by_stack: dict[str, Errors]
    by_page: dict[str, Errors]
    by_kind: dict[str, Errors]
    by_overflow: dict[str, Errors]
    luck_by_overflow: dict[str, float]
    """Mean of the cells' `luck`."""
    luck_by_network: dict[str, float] = {}
    unlost: dict[str, Ratios]
    """Ratios of `pairs`, in cells in which neither queue was full."""
    pairs: dict[str, Ratios]
    itself: dict[str, Ratios] = {}
    """Ratios of one of the browser's blocks to the medians of the others, on the pages made
    last."""
    invalid: int
    """Cells left out because one of the clients had no valid load."""
    cells: list[Cell]
    computing: dict[str, Errors] = {}
    """Errors by network, where system calls take time on both sides."""
    graphs: list[str]
    """How well graphs explain a browser's loads: lines of a table."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    steps = parser.add_subparsers(dest="step", required=True)
    making = steps.add_parser("make")
    making.add_argument("folder", type=Path)
    making.add_argument("pages", nargs="*")
    making.add_argument("--browser", type=Path, help="a capsule that a browser made")
    making.add_argument("--networks", nargs="+", default=NETWORKS)
    making.add_argument("--stacks", nargs="+", default=STACKS)
    making.add_argument("--runs", type=int, default=RUNS)
    making.add_argument("--computing", action="store_true", help="computing takes time")
    making.add_argument("--jobs", default="1")
    writing = steps.add_parser("write")
    writing.add_argument("folders", nargs="+", type=Path)
    writing.add_argument("--kept", action="store_true", help="and cells of loader.json")
    asked = parser.parse_args()
    if asked.step == "make":
        if bool(asked.pages) == bool(asked.browser):
            making.error("give either pages or --browser CAPSULE")
        make(asked)
    else:
        kept = (DOCS / "loader.json").read_bytes() if asked.kept else None
        write(asked.folders, msgspec.json.decode(kept, type=Found) if kept else None)


def make(asked: argparse.Namespace) -> None:
    folder: Path = asked.folder
    (folder / "pages").mkdir(parents=True, exist_ok=True)
    options = RunOptions(virtual=True, computing=asked.computing, jobs=asked.jobs)
    if asked.browser:
        study = structs.replace(Capsule.open(asked.browser).manifest.study, controls=())
        if not (folder / "browser").exists():
            (folder / "browser").symlink_to(asked.browser.resolve())
    else:
        study = _study(asked.pages, asked.networks, asked.stacks, asked.runs, clock=options.clock)
        make_visits(study, folder / "browser", options)
    pages = [str(p.path) for p in study.pages]
    taught = _study(pages, TAUGHT_ON, TAUGHT_BY, 1, seed=1, clock=study.clock)
    make_visits(taught, folder / "taught", options)
    lessons, known = Capsule.open(folder / "taught"), []
    for page, own in zip(taught.pages, study.pages, strict=True):
        target = folder / "pages" / f"{page.name}.har.zip"
        try:
            learned = with_graph(page, learn(page, lessons), target)
        except InputError as error:
            print(f"left out: {error}", file=sys.stderr)
            continue
        known.append(structs.replace(learned, name=own.name))
    for name, pages in (("loader", tuple(known)), ("structure", study.pages)):
        client = structs.replace(study.client, frames=False)
        predicted = structs.replace(study, name="loader", pages=pages, client=client)
        make_visits(study_by(predicted, LOADER), folder / name, options)


def _study(
    pages: Sequence[str],
    networks: Sequence[str],
    stacks: Sequence[str],
    runs: int,
    *,
    seed: int = 0,
    clock: Clock,
) -> Study:
    return StudySpec(
        name="loader",
        pages=pages,
        networks=[find_network(n) for n in networks],
        stacks=[find_stack(s) for s in stacks],
        runs=runs,
        seed=seed,
        client=Client(),
        clock=clock,
    ).resolve(cache_folder("pages"))


def cells(folder: Path) -> Iterator[Cell]:
    browser, loader = (_times(folder / name) for name in ("browser", "loader"))
    structure = _times(folder / "structure") if (folder / "structure").exists() else {}
    overflow = _overflow(folder / "browser")
    study = Capsule.open(folder / "browser").manifest.study
    kinds = {p.name: _kind(p.source) for p in study.pages}
    for key, times in browser.items():
        if key in loader:
            page, network, stack = key
            yield Cell(
                page=page,
                kind=kinds[page],
                network=network,
                stack=stack,
                browser=median(times),
                loader=median(loader[key]),
                structure=median(structure[key]) if key in structure else None,
                runs=min(len(times), len(loader[key])),
                luck=_luck(times),
                overflow=overflow[key],
            )


def _kind(source: str) -> Kind:
    if source.startswith(STAND_IN):
        return "stand-ins"
    return "HARs" if source.endswith(BODILESS) else "recordings"


def _luck(times: Sequence[float]) -> float | None:
    if len(times) < 2:
        return None
    others = [median([*times[:n], *times[n + 1 :]]) for n in range(len(times))]
    return mean(abs(time / other - 1) for time, other in zip(times, others, strict=True))


def _times(folder: Path) -> dict[Key, list[float]]:
    found: dict[Key, list[float]] = {}
    for key, _, plt_ms in _loaded(folder):
        found.setdefault(key, []).append(plt_ms)
    return found


def _loaded(folder: Path) -> Iterator[tuple[Key, str, float]]:
    """Cell, block and page load time in ms of each valid load."""
    for visit in Capsule.open(folder).visits():
        if visit.valid and visit.outcome == "loaded" and visit.plt_ms:
            yield (visit.page, visit.network, visit.stack), visit.block, visit.plt_ms


def _overflow(folder: Path) -> dict[Key, Overflow]:
    found: dict[Key, Overflow] = {}
    for visit in Capsule.open(folder).visits():
        key, link = (visit.page, visit.network, visit.stack), visit.link
        found.setdefault(key, "no queue")
        if link and link.up.dropped_queue:
            found[key] = "the queue up"
        elif link and link.down.dropped_queue and found[key] == "no queue":
            found[key] = "the queue down"
    return found


def write(folders: Sequence[Path], kept: Found | None) -> None:
    first = Capsule.open(folders[0] / "browser")
    computing = [f for f in folders if _clock(f) != NETWORK]
    folders = [f for f in folders if f not in computing]
    # Each line once: the head, and a page whose graph was judged before.
    graphs = _by_page(kept.graphs if kept else ())
    for folder in folders:
        learned, seen = Capsule.open(folder / "taught"), Capsule.open(folder / "browser")
        if {n.name for n in seen.manifest.study.networks} == set(TAUGHT_ON):
            graphs |= _by_page(rows(learned, seen))
    browsers = kept.browser.split(" and ") if kept else []
    browsers.append(first.manifest.starts[-1].browser_version)
    browser = " and ".join(dict.fromkeys(browsers))
    made = _largest(cell for f in folders if (f / "loader").exists() for cell in cells(f))
    computed = _by(_largest(cell for f in computing for cell in cells(f)), "network")
    if not made:
        (DOCS / "loader.md").write_text(graphs_text(browser, list(graphs.values())))
        return
    asked = set().union(*(_asked(folder) for folder in folders))
    unmade = len(asked - {c.key for c in made})
    if kept:  # those of its pages that are not asked for again
        pages = {c.page for c in kept.cells}
        again = {key for key in asked if key[0] in pages} - {c.key for c in kept.cells}
        unmade += max(0, kept.invalid - len(again))
    made = [*(c for c in (kept.cells if kept else ()) if c.key not in asked), *made]
    full = [c for c in made if c.overflow == "no queue"]
    found = Found(
        browser=browser,
        pages=len({c.page for c in made}),
        whole=_errors(made) or sys.exit("no cell"),
        taught=_errors([c for c in made if c.taught]),
        held_out=_errors([c for c in made if not c.taught]),
        structure=_errors([c for c in made if c.structure], structure=True),
        by_network=_by(made, "network"),
        by_stack=_by(made, "stack"),
        by_page=_by([c for c in made if c.kind != "stand-ins"], "page"),
        by_kind=_by(made, "kind"),
        by_overflow=_by(sorted(made, key=lambda c: c.overflow), "overflow"),
        luck_by_overflow=_luck_by(made, "overflow"),
        luck_by_network=_luck_by(made, "network"),
        unlost={f"{b} / {a}": _ratios(full, a, b) for a, b in PAIRS},
        pairs={f"{b} / {a}": _ratios(made, a, b) for a, b in PAIRS},
        itself=_itself(folders) or (kept.itself if kept else {}),
        invalid=unmade,
        cells=made,
        computing=computed or (kept.computing if kept else {}),
        graphs=list(graphs.values()),
    )
    text = msgspec.json.format(msgspec.json.encode(found), indent=1)
    (DOCS / "loader.json").write_bytes(text + b"\n")
    kinds = {
        kind: {"pages": len({c.page for c in made if c.kind == kind}), "errors": errors}
        for kind, errors in found.by_kind.items()
    }
    told = {"browser": found.browser, "kinds": kinds}
    PACKAGED.write_bytes(msgspec.json.format(msgspec.json.encode(told), indent=1) + b"\n")
    (DOCS / "loader.md").write_text(page_text(found, found.graphs))
    draw(made)


def _by_page(lines: Iterable[str]) -> dict[str, str]:
    """Lines of a table by their first cell."""
    return {line.split("|")[1]: line for line in lines}


def _clock(folder: Path) -> Clock:
    return Capsule.open(folder / "browser").manifest.study.clock


def _largest(found: Iterable[Cell]) -> list[Cell]:
    """The copy with the most blocks of each cell that is in several folders."""
    made: dict[Key, Cell] = {}
    for cell in found:
        if cell.key not in made or made[cell.key].runs < cell.runs:
            made[cell.key] = cell
    return list(made.values())


def _asked(folder: Path) -> set[Key]:
    study = Capsule.open(folder / "browser").manifest.study
    return {
        (p.name, n.name, s.name) for p in study.pages for n in study.networks for s in study.stacks
    }


def _errors(made: Sequence[Cell], *, structure: bool = False) -> Errors | None:
    if not made:
        return None
    predicted = [(c.structure or c.loader) if structure else c.loader for c in made]
    return errors(predicted, [c.browser for c in made])


def _by(made: Sequence[Cell], field: str) -> dict[str, Errors]:
    names = dict.fromkeys(getattr(c, field) for c in made)
    grouped = {n: _errors([c for c in made if getattr(c, field) == n]) for n in names}
    return {name: found for name, found in grouped.items() if found}


def _luck_by(made: Sequence[Cell], field: str) -> dict[str, float]:
    found: dict[str, list[float]] = {}
    for cell in made:
        if cell.luck is not None:
            found.setdefault(getattr(cell, field), []).append(cell.luck)
    return {name: mean(luck) for name, luck in sorted(found.items())}


def _ratios(made: Sequence[Cell], a: str, b: str) -> Ratios:
    by_key = {c.key: c for c in made}
    both = [
        (by_key[p, n, a], by_key[p, n, b])
        for p, n in dict.fromkeys((c.page, c.network) for c in made)
        if (p, n, a) in by_key and (p, n, b) in by_key
    ]
    return ratios([y.loader / x.loader for x, y in both], [y.browser / x.browser for x, y in both])


def _itself(folders: Sequence[Path]) -> dict[str, Ratios]:
    blocks = [_by_block(folder) for folder in folders]
    found = {f"{b} / {a}": _luck_of_ratios(blocks, a, b) for a, b in PAIRS}
    return {name: pair for name, pair in found.items() if pair.cells}


def _luck_of_ratios(folders: Iterable[Mapping[Key, Mapping[str, float]]], a: str, b: str) -> Ratios:
    one, others = [], []
    for times in folders:
        for (page, network, stack), by_a in times.items():
            by_b = times.get((page, network, b), {})
            both = sorted(by_a.keys() & by_b.keys())
            if stack != a or len(both) < 2:
                continue
            for block in both:
                rest = [n for n in both if n != block]
                one.append(by_b[block] / by_a[block])
                others.append(median(by_b[n] for n in rest) / median(by_a[n] for n in rest))
    return ratios(one, others)


def _by_block(folder: Path) -> dict[Key, dict[str, float]]:
    found: dict[Key, dict[str, float]] = {}
    for key, block, plt_ms in _loaded(folder / "browser"):
        found.setdefault(key, {})[block] = plt_ms
    return found


def draw(made: Sequence[Cell]) -> None:
    rows = [
        {"Chromium, s": c.browser / 1000, "load generator, s": c.loader / 1000}
        | {"network": c.network, "pages": c.kind}
        for c in made
    ]
    values = [row[k] for row in rows for k in ("Chromium, s", "load generator, s")]
    low, high = min(values) / sqrt(1.5), max(values) * sqrt(1.5)
    scale = alt.Scale(type="log", domain=[low, high], nice=False)
    points = (
        alt.Chart(alt.Data(values=rows))
        .mark_point(size=28, opacity=0.75)
        .encode(
            x=alt.X("Chromium, s:Q", scale=scale),
            y=alt.Y("load generator, s:Q", scale=scale),
            color=alt.Color("network:N", sort=list(NETWORKS)),
            shape=alt.Shape("pages:N", title="pages"),
        )
    )
    ends = [{"Chromium, s": v, "load generator, s": v} for v in (low, high)]
    line = alt.Chart(alt.Data(values=ends)).mark_line(color="#8b8f98", strokeDash=[4, 3])
    line = line.encode(x="Chromium, s:Q", y="load generator, s:Q")
    (line + points).properties(width=420, height=420).save(DOCS / "loader.svg")


if __name__ == "__main__":
    main()
