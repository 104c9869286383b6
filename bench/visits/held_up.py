"""What a busy machine does to loads, and which of them the verdict tells.

    uv run python bench/visits/held_up.py measure FILE [ROUNDS] [--plain] [--cells a] [--loads x]
    uv run python bench/visits/held_up.py show FILE... docs/reference/busy-machine
    uv run python bench/visits/held_up.py equal FILE docs/reference/busy-loops

`measure` crosses what else runs on the machine with pages from network-bound to CPU-bound and links
from slow to bare, h1, h2 and h3, in turns with a quiet machine, and appends every visit to FILE as
JSON lines. `--plain` gives no process precedence. `show` holds each visit against the quiet ones of
its cell and stack, file by file. `equal` asks whether believed visits beside other work are
equivalent to believed quiet ones: within 2 % by two one-sided Welch tests of log times, at 5 %.
"""

import argparse
import contextlib
import itertools
import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from math import exp, log
from pathlib import Path
from unittest import mock

import altair as alt
import msgspec
from msgspec import Struct, structs
from scipy.stats import ttest_ind

from dragstrip.execution import session
from dragstrip.execution.orders import VisitOrder
from dragstrip.model.study import Block, Client, Study
from dragstrip.model.thresholds import DEFAULTS, Thresholds
from dragstrip.model.visit import Visit
from dragstrip.study.presets import find_network, find_stack
from dragstrip.study.spec import StudySpec
from dragstrip.verdict import host_checks
from dragstrip.visit.ideal import needed_ms

STACKS = ("h1", "h2", "h3")
WITHIN = 0.02
ALPHA = 0.05
LIMITS = ((20, 0.02), (40, 0.05), (40, 0.1), (80, 0.1), (80, 0.2), (120, 0.5), (1e9, 1.0))
"""Limits of a thread's wait: ms, or a share of the load if that is more. The last is none."""
CELLS = {
    "demo, LTE": ("demo", "LTE"),
    "demo, DSL": ("demo", "DSL"),
    "demo, 3G": ("demo", "sitespeed-3g"),
    "64 small, 100 Mbit/s": ("synth:64x10KB@4", "100mbit/100mbit/5ms/0%/100ms"),
    "90 objects, bare": ("synth:90x15KB@4", "bare"),
    "computes half a second, LTE": ("computes", "LTE"),
    "computes half a second, bare": ("computes", "bare"),
}
LOOP = [sys.executable, "-c", "while True: pass"]
TOUCH = "b = bytearray(1 << 30)\nwhile True: b[:] = bytes(1 << 28) * 4"
WRITE = """
import os, sys
with open(sys.argv[1], "wb", buffering=0) as file:
    while True:
        file.seek(0)
        for _ in range(64):
            file.write(os.urandom(1 << 20))
        os.fsync(file.fileno())
"""
COMPUTES = """<!doctype html><title>Computes</title><p id=p>...</p>
<script>let x = 1; for (let i = 0; i < 2e7; i++) x = (x * 1103515245 + 12345) % 2147483648;
document.getElementById("p").textContent = x;</script>"""
PLAYS = """<!doctype html><canvas id=c width=1280 height=720></canvas><script>
const g = c.getContext("2d"); let n = 0;
(function draw() { for (let i = 0; i < 3000; i++) {
g.fillStyle = "hsl(" + (n++ % 360) + ",80%,50%)";
g.fillRect(Math.random() * 1280, Math.random() * 720, 40, 40); } requestAnimationFrame(draw); })();
</script>"""


class Row(Struct, frozen=True):
    cell: str
    load: str
    precedence: bool
    visit: Visit


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("measure", "show", "equal"))
    parser.add_argument("files", nargs="+")
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--cells", default="|".join(CELLS))
    parser.add_argument("--loads", default="")
    asked = parser.parse_args()
    if asked.what == "show":
        *files, target = map(Path, asked.files)
        show([list(rows(file)) for file in files], target)
        return
    if asked.what == "equal":
        file, target = map(Path, asked.files)
        seen = list(compared(list(rows(file))))
        target.with_suffix(".md").write_text("\n".join([*equal_page(seen, target.name), ""]))
        return
    rounds = int(asked.files[1]) if len(asked.files) > 1 else 3
    with tempfile.TemporaryDirectory() as folder:
        known = loads(Path(folder))
        chosen = {n: known[n] for n in asked.loads.split(",")} if asked.loads else known
        cells = asked.cells.split("|")
        measure(Path(asked.files[0]), rounds, Path(folder), cells, chosen, plain=asked.plain)


def loads(folder: Path) -> dict[str, list[list[str]]]:
    """Commands that may run beside, each a separate login to the scheduler."""
    source, page = folder / "source.c", folder / "plays.html"
    functions = (
        f"int f{n}(int x){{for(int i=0;i<x;i++)x=x*{n}^i%7;return x;}}" for n in range(4000)
    )
    source.write_text("\n".join(functions))
    page.write_text(PLAYS)
    builds = f"while :; do cc -O2 -c {source} -o /dev/null; done"
    browser = shutil.which("chromium") or shutil.which("chromium-headless-shell") or "chromium"
    return {
        "1 loop": [LOOP],
        "2 loops": [LOOP] * 2,
        "4 loops": [LOOP] * 4,
        "compiler": [["sh", "-c", builds]] * 2,
        "browser": [[browser, "--headless=new", "--no-sandbox", f"--user-data-dir={folder}/plays",
                     page.as_uri()]],
        "memory": [[sys.executable, "-c", TOUCH]] * 2,
        "disk": [[sys.executable, "-c", WRITE, str(folder / "written")]],
    }  # fmt: skip


def measure(
    file: Path,
    rounds: int,
    folder: Path,
    cells: list[str],
    known: dict[str, list[list[str]]],
    *,
    plain: bool,
) -> None:
    study = made(folder, cells)
    specs = dict.fromkeys(CELLS[cell][0] for cell in cells)
    names = {spec: page.name for spec, page in zip(specs, study.pages, strict=True)}
    order = random.Random(time.time_ns())
    made_blocks = itertools.count()
    wants = mock.patch.object(session, "wants_precedence").start()
    with file.open("ab") as out, session.visit_session(study) as visit:
        for turn in range(rounds):
            for cell in cells:
                page, network = CELLS[cell]
                others = order.sample(list(known), len(known))
                # Quiet first, last and in the middle.
                middle = len(others) // 2
                turns = ["quiet", *others[:middle], "quiet", *others[middle:], "quiet"]
                for number, load in enumerate(turns):
                    wants.return_value = load != "quiet" and not plain
                    stacks = tuple(order.sample(STACKS, len(STACKS)))
                    block = Block(
                        page=names[page],
                        network=find_network(network).name,
                        index=next(made_blocks),
                        seed=turn + 1,
                        order=stacks,
                    )
                    with running(known.get(load, [])):
                        for stack in stacks:
                            seen, _ = visit(VisitOrder(block=block, attempt=0, stack=stack))
                            assert seen.host
                            row = Row(cell, load, bool(seen.host.precedence), slim(seen))
                            out.write(msgspec.json.encode(row) + b"\n")
                    out.flush()
                    print(f"\rround {turn + 1}, {cell}: {number + 1} of {len(turns)}   ", end="")
    print()


def made(folder: Path, cells: list[str]) -> Study:
    computing = folder / "computes.har"
    computing.write_text(json.dumps(har(COMPUTES)))
    pages = dict.fromkeys(CELLS[cell][0] for cell in cells)
    networks = dict.fromkeys(CELLS[cell][1] for cell in cells)
    return StudySpec(
        name="held-up",
        pages=[str(computing) if page == "computes" else page for page in pages],
        networks=[find_network(name) for name in networks],
        stacks=[find_stack(name) for name in STACKS],
        runs=1,
        seed=1,
        client=Client(),
    ).resolve(folder)


def slim(visit: Visit) -> Visit:
    """The parts of a visit that rules about the machine read, without bodies and pictures."""
    return structs.replace(visit, served=(), connections=(), visual=None)


@contextlib.contextmanager
def running(commands: list[list[str]]) -> Iterator[None]:
    """Runs the commands beside the block, from a moment before it."""
    started = [
        subprocess.Popen(
            command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=_ordinary,
        )
        for command in commands
    ]
    time.sleep(1.0 if commands else 0.3)
    try:
        yield
    finally:
        for process in started:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _ordinary() -> None:
    """Gives up the precedence that a child process would inherit."""
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def har(html: str) -> dict[str, object]:
    entry = {
        "startedDateTime": "2026-01-01T00:00:00Z",
        "time": 1,
        "request": {"method": "GET", "url": "https://computes.test/", "httpVersion": "HTTP/1.1",
                    "headers": [], "queryString": [], "cookies": [], "headersSize": -1,
                    "bodySize": 0},
        "response": {"status": 200, "statusText": "OK", "httpVersion": "HTTP/1.1",
                     "headers": [{"name": "content-type", "value": "text/html"}], "cookies": [],
                     "content": {"size": len(html), "mimeType": "text/html", "text": html},
                     "redirectURL": "", "headersSize": -1, "bodySize": len(html)},
        "cache": {},
        "timings": {"send": 0, "wait": 1, "receive": 0},
    }  # fmt: skip
    log = {"version": "1.2", "creator": {"name": "bench", "version": "1"}, "entries": [entry]}
    return {"log": log}


def rows(file: Path) -> Iterator[Row]:
    for line in file.open("rb"):
        yield msgspec.json.decode(line, type=Row)


def show(files: list[list[Row]], target: Path) -> None:
    """Writes NAME.md and NAME.svg."""
    seen = [against for file in files for against in compared(file)]
    chart(seen).save(target.with_suffix(".svg"))
    lines = [*page(seen, target.name), "", *by_limit(files), ""]
    target.with_suffix(".md").write_text("\n".join(lines))


class Against(Struct, frozen=True):
    """A load beside the median of the quiet ones of its cell and stack, which shared its hour."""

    row: Row
    off: float
    unexplained: float
    """Share of the load that bytes and round trips leave unexplained."""
    believed: bool


def compared(seen: list[Row], limits: Thresholds = DEFAULTS) -> Iterator[Against]:
    quiet: dict[tuple[str, str], list[float]] = defaultdict(list)
    for row in seen:
        if row.load == "quiet" and row.visit.plt_ms:
            quiet[row.cell, row.visit.stack].append(row.visit.plt_ms)
    for row in seen:
        visit, network = row.visit, find_network(CELLS[row.cell][1])
        stack = find_stack(visit.stack)
        if visit.plt_ms:
            off = visit.plt_ms / statistics.median(quiet[row.cell, visit.stack]) - 1
            needed = needed_ms(visit, network, stack) or 0.0
            against = [
                *host_checks.on_time(visit, network, limits),
                *host_checks.heated(visit, limits),
                *(
                    reason
                    for check in (host_checks.stolen, host_checks.crowded, host_checks.waited)
                    for reason in check(visit, network, stack, limits)
                ),
            ]
            yield Against(row, off, 1 - needed / visit.plt_ms, not against)


def by_limit(files: list[list[Row]]) -> Iterator[str]:
    """False alarms against misses, for several limits of the wait for a CPU."""
    yield "## How long a thread may wait"
    yield ""
    yield "A load was **held up** if it took 2 % longer than every quiet load of its cell and"
    yield "stack; all others are **honest**. All checks of the machine are applied, with these"
    yield "limits of a thread's wait for a CPU (`wait_ms`, `wait_share`)."
    yield ""
    yield (
        "| a thread may wait | quiet visits refused | honest visits beside other work refused "
        "| held-up visits believed | the longest believed, against the slowest quiet one |"
    )
    yield "|---" * 5 + "|"
    for wait_ms, share in LIMITS:
        limits = structs.replace(DEFAULTS, wait_ms=wait_ms, wait_share=share)
        seen = [[*compared(file, limits)] for file in files]
        quiet = [s.believed for file in seen for s in file if s.row.load == "quiet"]
        busy = [pair for file in seen for pair in against_slowest(file)]
        honest = [s.believed for s, longer in busy if longer <= WITHIN]
        held_up = [s.believed for s, longer in busy if longer > WITHIN]
        worst = max((longer for s, longer in busy if s.believed), default=0.0)
        now = ", today" if (wait_ms, share) == (DEFAULTS.wait_ms, DEFAULTS.wait_share) else ""
        yield (
            f"| {f'{wait_ms:g} ms or {share:.0%} of the load' if share < 1 else 'any time'}{now} "
            f"| {quiet.count(False)} of {len(quiet)} "
            f"| {honest.count(False)} of {len(honest)} "
            f"| {held_up.count(True)} of {len(held_up)} | {worst:+.1%} |"
        )


def against_slowest(seen: list[Against]) -> Iterator[tuple[Against, float]]:
    """Each load beside other work, and the share by which it took longer than the slowest quiet one
    of its cell and stack."""
    slowest: dict[tuple[str, str], float] = defaultdict(lambda: -1.0)
    for s in seen:
        if s.row.load == "quiet":
            key = s.row.cell, s.row.visit.stack
            slowest[key] = max(slowest[key], s.off)
    for s in seen:
        if s.row.load != "quiet":
            yield s, (1 + s.off) / (1 + slowest[s.row.cell, s.row.visit.stack]) - 1


def page(seen: list[Against], name: str) -> Iterator[str]:
    yield "# Loads on a busy machine"
    yield ""
    yield f"![Difference from loads on the quiet machine]({name}.svg)"
    yield ""
    yield "Page load time beside other work (loops, a compiler, a browser that plays a video,"
    yield "memory, disk), relative to the median of quiet loads of the same hour: h1, h2, h3, two"
    yield 'cores, median (least to greatest). "Believed" loads passed all checks of the machine.'
    yield '"Unexplained" is the share of a load beyond what its bytes and round trips need.'
    yield ""
    yield (
        "| page and link | precedence | loads | believed | those against quiet "
        "| the others against quiet | unexplained |"
    )
    yield "|---" * 7 + "|"
    for cell in CELLS:
        for load, ahead in (("quiet", False), ("busy", False), ("busy", True)):
            mine = [
                s
                for s in seen
                if (s.row.cell, s.row.load == "quiet") == (cell, load == "quiet")
                and s.row.precedence is ahead
            ]
            if not mine:
                continue
            word = "quiet" if load == "quiet" else "yes" if ahead else "no"
            rest = statistics.median(s.unexplained for s in mine)
            share = sum(s.believed for s in mine) / len(mine)
            yield (
                f"| {cell} | {word} | {len(mine)} | {share:.0%} "
                f"| {spread([s.off for s in mine if s.believed])} "
                f"| {spread([s.off for s in mine if not s.believed])} | {min(rest, 1):.0%} |"
            )
    yield ""
    yield "[Precedence](../decisions/0031-precedence.md) is what visits on a busy machine get."
    yield "Visits without it are like an ordinary user's. [Whether believed visits beside two loops"
    yield "are equivalent to quiet ones](busy-loops.md)."
    yield ""
    yield f"{len(seen)} visits of {days_of(seen)}:"
    yield ""
    yield "    uv run python bench/visits/held_up.py measure FILE 1 [--plain]"
    yield "    uv run python bench/visits/held_up.py show FILE... docs/reference/busy-machine"


def equal_page(seen: list[Against], name: str) -> Iterator[str]:
    busy = [s for s in seen if s.row.load != "quiet"]
    others, cells = (
        list(dict.fromkeys(names))
        for names in ((s.row.load for s in busy), (s.row.cell for s in seen))
    )
    believed, ahead = sum(s.believed for s in busy), sum(s.row.precedence for s in busy)
    yield f"# Beside {' and '.join(others)}"
    yield ""
    yield (
        f"**{believed} of {len(busy)} visits passed all checks of the machine "
        f"({believed / len(busy):.0%}).** {ahead} of them had "
        "[precedence](../decisions/0031-precedence.md). Visits on the quiet machine took turns "
        "with them."
    )
    yield ""
    yield "Ratios are of geometric means, believed visits beside the load against believed quiet"
    yield "ones. Equivalent: within 2 % by two one-sided Welch tests of log times, at 5 %."
    yield ""
    yield (
        "| page and link | stack | believed | quiet believed | page load | spread, quiet "
        "| equivalent | first byte | equivalent |"
    )
    yield "|---" * 9 + "|"
    for cell, stack in itertools.product(cells, STACKS):
        mine = [s for s in seen if (s.row.cell, s.row.visit.stack) == (cell, stack)]
        beside = [s for s in mine if s.row.load != "quiet"]
        quiet = [s for s in mine if s.row.load == "quiet"]
        counts = (f"{sum(s.believed for s in g)} of {len(g)}" for g in (beside, quiet))
        plt, quiet_spread, plt_equal = equal(beside, quiet, "plt_ms")
        ttfb, _, ttfb_equal = equal(beside, quiet, "ttfb_ms")
        yield (
            f"| {cell} | {stack} | {' | '.join(counts)} | {plt} | {quiet_spread} | {plt_equal} "
            f"| {ttfb} | {ttfb_equal} |"
        )
    yield ""
    yield f"{len(seen)} visits of {days_of(seen)}:"
    yield ""
    rounds = len(busy) // (len(others) * len(cells) * len(STACKS))
    yield (
        f"    uv run python bench/visits/held_up.py measure FILE {rounds} "
        f"--loads '{','.join(others)}' --cells '{'|'.join(cells)}'"
    )
    yield f"    uv run python bench/visits/held_up.py equal FILE docs/reference/{name}"


def equal(busy: list[Against], quiet: list[Against], metric: str) -> tuple[str, str, str]:
    """Ratio, coefficient of variation when quiet, and whether the two are equivalent."""
    a, b = ([log(getattr(s.row.visit, metric)) for s in g if s.believed] for g in (busy, quiet))
    if min(len(a), len(b)) < 2:
        return "-", "-", "too few"
    step = log(1 + WITHIN)
    above = ttest_ind([x + step for x in a], b, equal_var=False, alternative="greater").pvalue
    below = ttest_ind([x - step for x in a], b, equal_var=False, alternative="less").pvalue
    p = max(above, below)
    ratio = exp(statistics.fmean(a) - statistics.fmean(b))
    said = "yes" if p < ALPHA else "not shown"
    sure = "p < 0.001" if p < 0.001 else f"p = {p:.2g}"
    return f"{ratio:.3f}", f"{statistics.stdev(b):.1%}", f"{said}, {sure}"


def spread(off: list[float]) -> str:
    if not off:
        return "-"
    return f"{statistics.median(off):+.1%} ({min(off):+.0%} to {max(off):+.0%})"


def days_of(seen: list[Against]) -> str:
    days = {datetime.fromtimestamp(s.row.visit.started_us / 1e6, UTC).date() for s in seen}
    return ", ".join(map(str, sorted(days)))


def chart(seen: list[Against]) -> alt.FacetChart:
    named = {False: "without precedence", True: "with precedence"}
    values = [
        {
            "cell": s.row.cell,
            "load": s.row.load,
            "off": max(-0.5, min(s.off, 1.0)),
            "who": "quiet" if s.row.load == "quiet" else named[s.row.precedence],
            "believed": "believed" if s.believed else "overloaded",
        }
        for s in seen
    ]
    drawn: alt.FacetChart = (
        alt.Chart(alt.Data(values=values))
        .mark_tick(thickness=2)
        .encode(
            alt.X("off:Q", title="page load time against quiet").axis(format="+%"),
            alt.Y("load:N", title=None),
            alt.Color("who:N", title=None),
            alt.Opacity("believed:N", title=None).scale(range=[1, 0.3]),
        )
        .properties(width=300, height=alt.Step(18))
        .facet(alt.Facet("cell:N", title=None, sort=list(CELLS)), columns=2)
        .properties(padding={"left": 20, "right": 40, "top": 5, "bottom": 5})
    )
    return drawn


if __name__ == "__main__":
    main()
