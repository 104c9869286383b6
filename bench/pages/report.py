"""How long the report of a large study takes to build and to open, and in how much memory.

uv run python bench/pages/report.py [FOLDER]

Simulated visits. 50 pages x 10 networks x 4 stacks, one of them in Firefox, x 5 runs are a study of
500 cells; 500 sampled cells have a page and a network each. On wolsing2019's grid 38 pages x 4
networks x 5 stacks x 31 runs are 23,560 visits, with a journal; and 1316 runs are a million, as
tables alone. FOLDER keeps the capsules. `--cells` measures only the first two.
"""

import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import polars as pl
from msgspec import structs

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "golden")]

import simulate  # noqa: E402

from dragstrip.model.network import Network  # noqa: E402
from dragstrip.model.page import Page  # noqa: E402
from dragstrip.model.stack import Stack  # noqa: E402
from dragstrip.model.study import Study  # noqa: E402
from dragstrip.model.visit import Visit  # noqa: E402
from dragstrip.results.capsule import JOURNAL, MANIFEST, Capsule  # noqa: E402
from dragstrip.results.tables.build import TABLES, frames  # noqa: E402
from dragstrip.study.presets import find_network, find_stack  # noqa: E402
from reader import reader  # noqa: E402

RUNS, MANY_RUNS = 31, 1316
CELLS_RUNS = 5
NETWORKS = ("DSL", "LTE", "DA2GC", "MSS")
STACKS = ("TCP", "TCP+", "TCP+BBR", "QUIC", "QUIC+BBR")
FIREFOX = Stack(name="h3-firefox", protocol="h3", browser="firefox")


def study(runs: int) -> Study:
    return structs.replace(
        simulate.study(pages=pages(38), runs=runs),
        networks=tuple(find_network(name) for name in NETWORKS),
        stacks=tuple(find_stack(name) for name in STACKS),
    )


def pages(count: int) -> tuple[Page, ...]:
    draw = random.Random(1)
    return tuple(
        simulate.page(f"site{i:02}", draw.randrange(6, 80), draw.randrange(1, 8))
        for i in range(count)
    )


def grid() -> Study:
    """50 pages on 10 networks."""
    return structs.replace(
        simulate.study(pages=pages(50), runs=CELLS_RUNS),
        networks=links(10),
        stacks=(*simulate.STACKS, FIREFOX),
    )


def sampled() -> Study:
    """500 cells, each with its own page and network, as a study of ranges has them."""
    found = structs.replace(
        simulate.study(pages=pages(500), runs=CELLS_RUNS), networks=links(500), sampled=True
    )
    own = zip(found.pages, found.networks, strict=True)
    return structs.replace(found, only=tuple((p.name, n.name, "first") for p, n in own))


def links(count: int) -> tuple[Network, ...]:
    """Networks of 2, 4, 6 Mbit/s and more, of 10 to 100 ms."""
    return tuple(
        structs.replace(
            Network.parse(f"{2 + 2 * i}mbit/{2 + i}mbit/{10 + 10 * (i % 10)}ms/0%/200ms"),
            name=f"link{i:02}",
        )
        for i in range(count)
    )


def visits(of: Study) -> Iterator[Visit]:
    """Like those of `simulate`, but each a copy of its cell's first with other load times."""
    blank = {
        (v.page, v.network, v.stack): v
        for v in simulate.visits(structs.replace(of, runs=1, reruns=0), invalid=0, timeouts=0)
    }
    draw = random.Random(2)
    for block in of.blocks():
        for place, stack in enumerate(block.order):
            first = blank[block.page, block.network, stack]
            times = ("plt_ms", "dcl_ms", "fcp_ms", "ttfb_ms")
            noise = draw.lognormvariate(0, 0.04)
            yield structs.replace(
                first,
                block=block.id,
                position=place,
                seed=block.seed,
                started_us=first.started_us + block.index * 30_000_000,
                reasons=(simulate._REASONS[1],) if draw.random() < 0.01 else (),
                **{name: (getattr(first, name) or 0) * noise for name in times},
            )


def few(folder: Path, of: Study) -> Capsule:
    """A capsule with a journal."""
    with Capsule.create(folder, simulate.manifest(of)):
        pass
    with (folder / JOURNAL).open("wb") as journal:
        for visit in visits(of):
            journal.write(msgspec.json.encode(visit) + b"\n")
    return Capsule.open(folder)


def many(folder: Path, of: Study) -> Capsule:
    """A capsule with a million rows. It has no journal, so visits have no pages."""
    folder.mkdir(parents=True)
    (folder / MANIFEST).write_bytes(simulate.manifest(of).to_json())
    one = structs.replace(of, runs=RUNS)
    rows = frames(list(visits(structs.replace(one, runs=1))), of)["visits"]
    draw = random.Random(3)
    with tempfile.TemporaryDirectory(dir=folder) as parts:
        for run in range(MANY_RUNS):
            noise = pl.Series([draw.lognormvariate(0, 0.04) for _ in range(len(rows))])
            again = (
                pl.col("block").str.replace(r"\d+$", str(run)),
                pl.col("seed") + run,
                pl.col("plt_ms") * noise,
            )
            rows.with_columns(again).write_parquet(f"{parts}/{run:06}.parquet")
        pl.scan_parquet(sorted(Path(parts).iterdir())).sink_parquet(folder / "visits.parquet")
    for name in TABLES[1:]:
        frames([])[name].write_parquet(folder / f"{name}.parquet")
    return Capsule.open(folder)


def measured(what: str, code: str, folder: Path) -> None:
    """Runs code in a new process and prints its time and peak memory."""
    begun = time.monotonic()
    argv = [sys.executable, "-c", code, str(folder)]
    pid = os.posix_spawn(sys.executable, argv, dict(os.environ))
    _, status, used = os.wait4(pid, 0)
    if status:
        raise SystemExit(f"{what} failed")
    wall_s, cpu_s = time.monotonic() - begun, used.ru_utime + used.ru_stime
    print(
        f"  {what:28} {wall_s:6.1f} s ({cpu_s:.1f} s of CPU), peak {used.ru_maxrss / 1024:.0f} MB"
    )


OPEN = "import sys; from pathlib import Path; from dragstrip.results.capsule import Capsule; "
OPEN += "capsule = Capsule.open(Path(sys.argv[1])); "
TABLES_CODE = OPEN + "from dragstrip.results.tables.build import refresh; refresh(capsule)"
BUILD_CODE = OPEN + "from dragstrip.report.site.site import build; build(capsule)"


def opened(folder: Path) -> None:
    """Load times in Chromium, from a disk: the first page, and a cell with its figure drawn."""
    with tempfile.TemporaryDirectory() as home, reader(Path(home)) as browser:
        cell = next(iter(sorted((folder / "report" / "cells").iterdir())))
        for page in (folder / "report" / "index.html", cell):
            begun = time.monotonic()
            browser.open(page)
            if page == cell:
                browser.until("document.querySelector('.vega')?.dataset.metric")
            took_s = time.monotonic() - begun
            load_ms = browser.ask("performance.getEntriesByType('navigation')[0].loadEventEnd")
            size = page.stat().st_size / 1000
            told = f"(load event {load_ms:.0f} ms), {size:.0f} kB"
            print(f"  open {page.name[:22]:23} {took_s:6.1f} s {told}", flush=True)
        if browser.errors:
            raise SystemExit(f"the browser complained: {browser.errors}")


STUDIES: tuple[tuple[str, Callable[[], Study], Callable[[Path, Study], Capsule]], ...] = (
    ("500 cells", grid, few),
    ("500 sampled cells", sampled, few),
    ("23,560 visits", lambda: study(RUNS), few),
    ("1,000,160 visits", lambda: study(MANY_RUNS), many),
)


def main() -> None:
    chosen = STUDIES[:2] if "--cells" in sys.argv else STUDIES
    given = [text for text in sys.argv[1:] if text != "--cells"]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(given[0] if given else scratch)
        for name, plan, make in chosen:
            place = folder / name.replace(",", "").replace(" ", "-")
            if not place.exists():
                make(place, plan())
            print(name)
            if make is few:
                size = (place / JOURNAL).stat().st_size / 1e6
                measured(f"tables of {size:.0f} MB of journal", TABLES_CODE, place)
            measured("report", BUILD_CODE, place)
            files = [f for f in (place / "report").rglob("*") if f.is_file()]
            print(f"  {len(files)} files, {sum(f.stat().st_size for f in files) / 1e6:.0f} MB")
            opened(place)


if __name__ == "__main__":
    main()
