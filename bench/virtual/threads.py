"""What does each thread of browser and server compute in a load, in real time and in a guest?

    uv run python bench/virtual/threads.py PAGE... [--network LTE] [--stack h2] [--loads 4]
        [--calls]

Loads each page in Chromium on a quiet machine in real time, then in virtual time. Prints, for each
kind of thread that computes 2 ms or more, the CPU time of a load by both clocks, and how many pages
of memory it touched for the first time. Virtual time's prices are right where both compute as long.
`--calls` counts system calls instead, in virtual time alone: by the clock on which they alone take
time.
"""

import argparse
import contextlib
import ctypes
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dragstrip.model.clock import Clock
    from dragstrip.model.study import Study

_KEPT = "threads"
_LEAST_MS = 2.0
_NETWORK_SERVICE = b"network.mojom.NetworkService"
_SERVER = b"dragstrip-origin"
_FIRST = "first"
_WARM_UP = 2
"""A session loads the page once for each of two stacks before its first visit."""

Work = dict[str, tuple[float, int]]
"""CPU ms and page faults, by process and thread."""

_loads: list[Work] = []


def work(session: int) -> Work:
    """Work so far of the threads of a browser with this session id, and of the server."""
    cpu_ms: Counter[str] = Counter()
    faults: Counter[str] = Counter()
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            kind = _kind(process, session)
            for task in (process / "task").iterdir() if kind else ():
                name = _FIRST if task.name == process.name else (task / "comm").read_text().strip()
                thread = f"{kind} / {name.rstrip('0123456789/')}"
                cpu_ms[thread] += int((task / "schedstat").read_text().split()[0]) / 1e6
                faults[thread] += int(_fields(task)[7])
    return {thread: (cpu_ms[thread], faults[thread]) for thread in cpu_ms}


def _fields(task: Path) -> list[str]:
    return (task / "stat").read_text().rpartition(")")[2].split()


def _kind(process: Path, session: int) -> str:
    words = (process / "cmdline").read_bytes().replace(b"\0", b" ").split()
    if int(_fields(process)[3]) == session:
        if any(_NETWORK_SERVICE in word for word in words):
            return "network service"
        kinds = (word.partition(b"=")[2] for word in words if word.startswith(b"--type="))
        return next(kinds, b"browser").decode()
    return "server" if words and _SERVER in words[0] else ""


def watch_loads() -> None:
    """Make each load of a Chromium tab add its threads' work to `_loads`."""
    from dragstrip.browsers import chromium

    load, fresh_tab = chromium.ChromiumTab.load, chromium.Chromium.fresh_tab
    session = 0

    def fresh_tab_of(browser: Any, *args: Any, **named: Any) -> Any:
        nonlocal session
        session = browser.session
        return fresh_tab(browser, *args, **named)

    def watched(tab: Any, url: str) -> Any:
        before = work(session)
        loaded = load(tab, url)
        after = work(session)
        _loads.append(
            {
                name: (now[0] - then[0], now[1] - then[1])
                for name, now in after.items()
                for then in (before.get(name, (0.0, 0)),)
            }
        )
        return loaded

    chromium.Chromium.fresh_tab = fresh_tab_of
    chromium.ChromiumTab.load = watched


def inside(folder: Path, capsule: Path) -> None:
    """What the guest runs."""
    from dragstrip.execution.guest import inside as guest

    watch_loads()
    try:
        guest.main(folder, capsule)
        (folder / _KEPT).write_text(json.dumps(_loads))
    finally:
        guest.os.sync()
        ctypes.CDLL(None).reboot(guest._POWER_OFF)


def in_a_guest(study: "Study") -> list[Work]:
    from dragstrip.execution.guest.job import BlockJob
    from dragstrip.execution.guest.run import guest_run
    from dragstrip.execution.guest.session import seed_of

    blocks = tuple(study.blocks())
    job = BlockJob(study=study, blocks=blocks, attempt=0, artefacts=False)
    with guest_run(job, study.clock, seed_of(study, blocks[0].id, 0)) as run:
        list(run.results())
        run._guest._process.wait()
        return json.loads((run._folder / _KEPT).read_text())


def here(study: "Study") -> list[Work]:
    from dragstrip.execution.orders import VisitOrder
    from dragstrip.execution.session import visit_session

    _loads.clear()
    with visit_session(study, None) as visit:
        for block in study.blocks():
            for stack in block.order:
                visit(VisitOrder(block=block, attempt=0, stack=stack))
    return list(_loads)


def study_of(asked: argparse.Namespace, page: str, clock: "Clock", cache: Path) -> "Study":
    from dragstrip.model.study import Client
    from dragstrip.study.presets import find_network, find_stack
    from dragstrip.study.spec import StudySpec

    return StudySpec(
        name="threads",
        pages=[page],
        networks=[find_network(asked.network)],
        stacks=[find_stack(asked.stack), find_stack("h1" if asked.stack != "h1" else "h2")],
        runs=asked.loads,
        seed=1,
        client=Client(),
        clock=clock,
    ).resolve(cache)


def mean(loads: Sequence[Work], thread: str) -> tuple[float, float]:
    each = [load.get(thread, (0.0, 0)) for load in loads[_WARM_UP:]]
    return sum(ms for ms, _ in each) / len(each), sum(n for _, n in each) / len(each)


def print_calls(asked: argparse.Namespace) -> None:
    from dragstrip.model.clock import SYSCALL_NS, Clock

    print("| page | process / thread | system calls |\n|---|---|---|")
    with tempfile.TemporaryDirectory() as cache:
        for page in asked.pages:
            calls_alone = Clock(kind="computing")
            loads = in_a_guest(study_of(asked, page, calls_alone, Path(cache)))
            for thread in sorted({name for load in loads for name in load}):
                ms, _ = mean(loads, thread)
                if ms >= _LEAST_MS:
                    print(f"| {page} | {thread} | {ms * 1e6 / SYSCALL_NS:.0f} |")


def main() -> None:
    from dragstrip.execution.guest import boot
    from dragstrip.model.clock import PRICED, REAL

    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("pages", nargs="+")
    ask.add_argument("--network", default="LTE")
    ask.add_argument("--stack", default="h2")
    ask.add_argument("--loads", type=int, default=4)
    ask.add_argument("--calls", action="store_true")
    asked = ask.parse_args()
    boot._INIT = boot._INIT.replace(
        "-m dragstrip.execution.guest.inside", f"{Path(__file__).resolve()} --inside"
    )
    if asked.calls:
        print_calls(asked)
        return
    watch_loads()
    print("| page | process / thread | CPU ms, real time | virtual time | page faults, real time |")
    print("|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as cache:
        for page in asked.pages:
            real = here(study_of(asked, page, REAL, Path(cache)))
            virtual = in_a_guest(study_of(asked, page, PRICED, Path(cache)))
            for thread in sorted({name for load in (*real, *virtual) for name in load}):
                (ms, faults), (guest_ms, _) = mean(real, thread), mean(virtual, thread)
                if max(ms, guest_ms) >= _LEAST_MS:
                    name = Path(page).name.partition(".")[0]
                    print(f"| {name} | {thread} | {ms:.1f} | {guest_ms:.1f} | {faults:.0f} |")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        inside(Path(sys.argv[2]), Path(sys.argv[3]))
    else:
        main()
