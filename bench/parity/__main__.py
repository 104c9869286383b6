"""Are the servers alike? wolsing2019's server check, and a page of many objects.

    uv run python bench/parity [repetitions, default 31] [folder, default docs/reference]

Chromium loads one object (10 KB to 10 MB) over a connection that has carried its document. The
result is the time from request to last byte, over 10 ms without a rate limit (wolsing2019 section
3.2) and over 25/5 Mbit/s with 24 ms. Then it loads a page of 51 objects and 590 KB on LTE, in three
times as many blocks; the result is the page load time. Nothing is rerun: an invalid visit is
counted and left out, so the time is bounded. Writes parity.md, parity.json and parity.svg. Seven
repetitions take below 12 minutes.
"""

import platform
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from figures import NETWORKS, OBJECTS, PAGE, Row, draw, record, table
from msgspec import structs
from rich.console import Console
from rich.progress import Progress, TimeRemainingColumn

from dragstrip.browsers.registry import browser_version
from dragstrip.execution.local import Schedule, run_here
from dragstrip.model.network import Network
from dragstrip.model.study import Client, Study
from dragstrip.model.visit import Visit
from dragstrip.study.presets import find_network, find_stack
from dragstrip.study.spec import StudySpec
from dragstrip.visit.metrics import object_times

SIZES = {"10KB": 1e4, "100KB": 1e5, "1MB": 1e6, "10MB": 1e7}
STACKS = ("TCP+", "QUIC", "TCP+BBR", "QUIC+BBR", "caddy-h2", "caddy-h3")
MANY_OBJECTS = "50x11.8KB"
"""A page of 51 objects, its document included."""
PAGE_RUNS = 3
VISIT_S = 1.0
"""What a visit of a small page takes with everything around it, for the estimate."""
SLOW_MBPS = 25


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 31
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else Path("docs/reference")
    console = Console(stderr=True)
    with tempfile.TemporaryDirectory() as cache:
        networks = [
            structs.replace(Network.parse(values), name=name) for name, values in NETWORKS.items()
        ]
        objects = study([f"1x{size}" for size in SIZES], networks, STACKS, runs, Path(cache))
        page = study(
            [MANY_OBJECTS], [find_network("LTE")], STACKS[:2], runs * PAGE_RUNS, Path(cache)
        )
        transfers_s = runs * len(STACKS) * sum(SIZES.values()) * 8e-6 / SLOW_MBPS
        visits = sum(Schedule(s, []).visits_left() for s in (objects, page))
        minutes = (visits * VISIT_S + transfers_s) / 60
        console.print(f"{visits} visits, about {minutes:.0f} minutes")
        started = time.monotonic()
        rows = [
            *(row for v in visit_all(objects, OBJECTS, console) for row in of_object(v)),
            *(row for v in visit_all(page, PAGE, console) for row in of_page(v)),
        ]
    folder.mkdir(parents=True, exist_ok=True)
    about = {
        "command": f"uv run python bench/parity {runs}",
        "browser": browser_version(),
        "kernel": platform.release(),
        "minutes": f"{(time.monotonic() - started) / 60:.1f}",
    }
    (folder / "parity.json").write_bytes(record(about, rows))
    text = table(about, rows)
    (folder / "parity.md").write_text(text)
    draw(rows, folder / "parity.svg")
    print(text)


def study(
    specs: Sequence[str],
    networks: Sequence[Network],
    stacks: Sequence[str],
    runs: int,
    cache: Path,
) -> Study:
    made = StudySpec(
        name="parity",
        pages=[f"synth:{spec}" for spec in specs],
        networks=networks,
        stacks=[find_stack(name) for name in stacks],
        runs=runs,
        seed=1,
        client=Client(),
    ).resolve(cache)
    return structs.replace(made, reruns=0)


def visit_all(asked: Study, what: str, console: Console) -> list[Visit]:
    visits: list[Visit] = []
    schedule = Schedule(asked, [])
    with Progress(
        *Progress.get_default_columns()[:-1], TimeRemainingColumn(), console=console
    ) as bar:
        task = bar.add_task(what, total=schedule.visits_left())

        def keep(visit: Visit, _: object) -> None:
            visits.append(visit)
            done = schedule.visits_made()
            bar.update(task, completed=done, total=done + schedule.visits_left())

        run_here(schedule, keep)
    return visits


def of_object(visit: Visit) -> list[Row]:
    """The one object beside the document, from request sent to last byte."""
    ms = next((o.sent_ms for o in object_times(visit) if o.url.endswith(".png")), None)
    return [_row(visit, OBJECTS, visit.page.removeprefix("synth-1x"), ms)]


def of_page(visit: Visit) -> list[Row]:
    return [_row(visit, PAGE, "51 objects, 590 KB", visit.plt_ms)]


def _row(visit: Visit, what: str, load: str, ms: float | None) -> Row:
    return Row(
        what=what,
        network=visit.network,
        load=load,
        stack=visit.stack,
        block=f"{visit.block}|{visit.attempt}",
        verdict=visit.verdict,
        ms=ms,
    )


if __name__ == "__main__":
    main()
