"""What a slower client does to a page that only computes, in real and in virtual time.

    uv run python bench/visits/slowdown.py FOLDER real       # on a quiet machine, two minutes
    uv run python bench/visits/slowdown.py FOLDER virtual    # on any
    uv run python bench/visits/slowdown.py FOLDER --write

A script fills 8 or 48 MB and reads them. The bench takes the time for 48 MB minus that for 8 MB, so
that everything else cancels out. FOLDER keeps the capsules. `--write` puts
docs/reference/slowdown.md there.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from dragstrip.conduct.options import RunOptions
from dragstrip.conduct.visits import make_visits
from dragstrip.model.clock import PRICED, REAL, Clock
from dragstrip.model.study import Client
from dragstrip.model.visit import Visit
from dragstrip.pages.format.archive import write_page
from dragstrip.pages.format.recording import Recorded, Recording
from dragstrip.results.capsule import Capsule
from dragstrip.study.presets import find_network, find_stack
from dragstrip.study.spec import StudySpec

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "slowdown.md"
TIMES = (1, 2, 4, 6)
SIZES_MB = (8, 48)
CLOCKS: dict[str, tuple[Clock, int]] = {"real": (REAL, 5), "virtual": (PRICED, 1)}
"""Each clock, and its blocks: in virtual time they hardly differ."""
STACKS = ("h2", "h1")
FINDINGS = """
Measured on 30 November 2026 on 2 cores, real time on a quiet machine. In virtual time the factor
is right to 3 %. In real time Chromium's own throttling is right to 4 % at four and six times, and
9 % too slow at twice. Virtual time takes a third longer for this script than real time.
""".strip()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("clock", choices=CLOCKS, nargs="?")
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    if asked.clock:
        for times in TIMES:
            make(asked.folder, asked.clock, times)
    text = "\n".join(page(asked.folder))
    print(text)
    if asked.write:
        PAGE.write_text(f"{text}\n")


def make(folder: Path, name: str, times: int) -> None:
    clock, runs = CLOCKS[name]
    pages = [str(computing(folder, size)) for size in SIZES_MB]
    study = StudySpec(
        name=f"slowdown-{name}-{times}",
        pages=pages,
        networks=[find_network("LTE")],
        stacks=[find_stack(stack) for stack in STACKS],
        runs=runs,
        seed=60,
        controls=False,
        client=Client(cpu_slowdown=float(times)),
        clock=clock,
    ).resolve(folder)
    make_visits(study, folder / f"{name}-{times}", RunOptions(calibrate=False, jobs=1))


def computing(folder: Path, size_mb: int) -> Path:
    """Write a page whose script fills and reads `size_mb` MB."""
    filled = f"new Uint8Array({size_mb} << 20).fill(1)"
    script = f"<script>for (const x of {filled}) if (!x) break</script>"
    home = Recorded(
        url="https://a.test/", headers=(("content-type", "text/html"),), wire=script.encode()
    )
    file = folder / f"{size_mb}MB.har.zip"
    write_page(file, Recording(name=file.stem, url=home.url, source="made", answers=(home,)))
    return file


def page(folder: Path) -> Iterator[str]:
    yield "# A slower client, on a page that only computes"
    yield ""
    yield "    uv run python bench/visits/slowdown.py FOLDER real"
    yield "    uv run python bench/visits/slowdown.py FOLDER virtual"
    yield "    uv run python bench/visits/slowdown.py FOLDER --write"
    yield ""
    yield (
        "A script fills memory and reads it, in headless shell. The time is that of 48 MB minus "
        "that of 8 MB: medians of page load times over LTE, so that network and everything else "
        "cancel. *Proportional* is how far it is from the time without a slow-down times the "
        "factor."
    )
    yield ""
    yield "| slow-down | real time, ms | proportional | virtual time, ms | proportional |"
    yield "|---|---|---|---|---|"
    for times in TIMES:
        cells = (cell for name in CLOCKS for cell in cells_of(folder, name, times))
        yield f"| {times} | {' | '.join(cells)} |"
    yield ""
    for name, (clock, _) in CLOCKS.items():
        visits = [v for times in TIMES for v in made(folder, name, times)]
        invalid = sum(not v.valid for v in visits)
        yield f"- **{clock.short.capitalize()}**: {len(visits)} loads, {invalid} invalid."
    yield ""
    yield FINDINGS


def cells_of(folder: Path, name: str, times: int) -> tuple[str, str]:
    plain, slowed = (computing_ms(folder, name, t) for t in (1, times))
    if slowed is None:
        return "-", "-"
    off = "-" if plain is None else f"{slowed / (plain * times) - 1:+.1%}"
    return f"{slowed:,.0f}", off


def computing_ms(folder: Path, name: str, times: int) -> float | None:
    visits = [v for v in made(folder, name, times) if v.valid]
    found = {
        size: [v.plt_ms for v in visits if v.page == f"{size}MB.har" and v.plt_ms]
        for size in SIZES_MB
    }
    if not all(found.values()):
        return None
    small, large = (median(found[size]) for size in SIZES_MB)
    return large - small


def made(folder: Path, name: str, times: int) -> list[Visit]:
    capsule = folder / f"{name}-{times}"
    return list(Capsule.open(capsule).visits()) if capsule.exists() else []


if __name__ == "__main__":
    main()
