"""What a busy machine does to loads, and which of them the verdict tells.

    uv run python bench/held_up.py measure FILE [ROUNDS] [--plain] [--cells a,b] [--loads x,y]
    uv run python bench/held_up.py show FILE...

`measure` crosses what else runs on the machine with pages from network-bound to CPU-bound and links
from slow to bare, h1, h2 and h3, in turns with a quiet machine, and appends every visit to FILE as
JSON lines. `--plain` gives nobody precedence. `show` holds each visit against the quiet ones of its
cell and stack.
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
from pathlib import Path
from unittest import mock

import msgspec
from msgspec import Struct, structs

from dragstrip.model.study import Block, Client, Study
from dragstrip.model.thresholds import DEFAULTS
from dragstrip.model.visit import Visit
from dragstrip.schedule import place
from dragstrip.schedule.worker import Order
from dragstrip.study.file import make_study
from dragstrip.study.presets import find_network, find_stack

STACKS = ("h1", "h2", "h3")
CELLS = {
    "demo, LTE": ("demo", "LTE"),
    "demo, DSL": ("demo", "DSL"),
    "demo, 3G": ("demo", "sitespeed-3g"),
    "64 small, 100 Mbit/s": ("synth:64x10KB@4", "100mbit/100mbit/5ms/0%/100ms"),
    "computes 0.3 s, LTE": ("computes", "LTE"),
    "computes 0.3 s, bare": ("computes", "bare"),
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
    parser.add_argument("what", choices=("measure", "show"))
    parser.add_argument("files", nargs="+")
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--cells", default="|".join(CELLS))
    parser.add_argument("--loads", default="")
    asked = parser.parse_args()
    if asked.what == "show":
        show([row for file in asked.files for row in rows(Path(file))])
        return
    rounds = int(asked.files[1]) if len(asked.files) > 1 else 3
    with tempfile.TemporaryDirectory() as folder:
        known = loads(Path(folder))
        chosen = {n: known[n] for n in asked.loads.split(",")} if asked.loads else known
        cells = asked.cells.split("|")
        measure(Path(asked.files[0]), rounds, Path(folder), cells, chosen, plain=asked.plain)


def loads(folder: Path) -> dict[str, list[list[str]]]:
    """What may run beside, as commands, each a login of its own to the scheduler."""
    source, page = folder / "source.c", folder / "plays.html"
    functions = (
        f"int f{n}(int x){{for(int i=0;i<x;i++)x=x*{n}^i%7;return x;}}" for n in range(4000)
    )
    source.write_text("\n".join(functions))
    page.write_text(PLAYS)
    builds = f"while :; do cc -O2 -c {source} -o /dev/null; done"
    browser = shutil.which("chromium") or "chromium"
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
    wants = mock.patch.object(place, "wants_precedence").start()
    with file.open("ab") as out, place.in_testbed(study) as visit:
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
                            seen, _ = visit(Order(block=block, attempt=0, stack=stack))
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
    return make_study(
        name="held-up",
        pages=[str(computing) if page == "computes" else page for page in pages],
        networks=[find_network(name) for name in networks],
        stacks=[find_stack(name) for name in STACKS],
        runs=1,
        seed=1,
        client=Client(),
        cache=folder,
    )


def slim(visit: Visit) -> Visit:
    """What the rules about the machine look at, without bodies and pictures."""
    return structs.replace(visit, served=(), connections=(), visual=None)


@contextlib.contextmanager
def running(commands: list[list[str]]) -> Iterator[None]:
    """Beside the block, from a moment before it."""
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
    """Without the precedence that it would inherit."""
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


def show(seen: list[Row]) -> None:
    quiet: dict[tuple[str, str], list[float]] = defaultdict(list)
    for row in seen:
        if row.load == "quiet" and row.visit.plt_ms:
            quiet[row.cell, row.visit.stack].append(row.visit.plt_ms)
    groups: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in seen:
        groups[row.cell, row.load].append(row)
    print(DEFAULTS.held_up_share)
    for (cell, load), mine in sorted(groups.items()):
        off = [
            row.visit.plt_ms / statistics.median(quiet[cell, row.visit.stack]) - 1
            for row in mine
            if row.visit.plt_ms
        ]
        waits = [
            max(h.browser_wait_ms or 0, h.server_wait_ms or 0) for r in mine if (h := r.visit.host)
        ]
        print(
            f"{cell:22} {load:9} n {len(mine):3}  off {statistics.median(off):+.1%} "
            f"({min(off):+.1%} to {max(off):+.1%})  wait {statistics.median(waits):.0f} "
            f"({max(waits):.0f}) ms"
        )


if __name__ == "__main__":
    main()
