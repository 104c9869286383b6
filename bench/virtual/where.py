"""Where does a guest's wall time go? Seconds of this machine for each part of a block's making.

    uv run python bench/virtual/where.py [--page demo] [--network LTE] [--stack h2 ...]
        [--client loader] [--blocks 1]

Makes blocks of one cell in one guest. The guest runs this file too, and times the parts of its work
by the processor's counter (rdtsc), which is the host's, whatever the guest's clock says.
"""

import argparse
import contextlib
import ctypes
import json
import mmap
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dragstrip.model.study import Study

_RDTSC = bytes.fromhex("0f3148c1e2204809d0c3")
_CODE = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
_CODE.write(_RDTSC)
ticks: Callable[[], int] = ctypes.CFUNCTYPE(ctypes.c_uint64)(
    ctypes.addressof(ctypes.c_char.from_buffer(_CODE))
)
SPANS = "spans"
_spans: list[tuple[str, int, int, int]] = []
"""Name, depth, begin and end."""
_depth = 0


@contextlib.contextmanager
def span(name: str) -> Iterator[None]:
    global _depth
    place, began = len(_spans), ticks()
    _spans.append((name, _depth, began, began))
    _depth += 1
    try:
        yield
    finally:
        _depth -= 1
        _spans[place] = (name, _depth, began, ticks())


def timed(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
    def wrapped(*args: Any, **named: Any) -> Any:
        with span(name):
            return call(*args, **named)

    return wrapped


def timed_context(name: str, opens: Callable[..., Any]) -> Callable[..., Any]:
    """The context manager with its beginning and its end timed separately."""

    @contextlib.contextmanager
    def wrapped(*args: Any, **named: Any) -> Iterator[Any]:
        context = opens(*args, **named)
        with span(f"{name}: start"):
            opened = context.__enter__()
        try:
            yield opened
        finally:
            with span(f"{name}: end"):
                context.__exit__(None, None, None)

    return wrapped


def inside(folder: Path, capsule: Path) -> None:
    """What the guest runs."""
    began = ticks()
    from dragstrip.browsers import chromium
    from dragstrip.browsers.loader import client as loader
    from dragstrip.execution import session
    from dragstrip.execution.guest import inside as guest
    from dragstrip.execution.open_browsers import OpenBrowsers
    from dragstrip.visit import drive

    _spans.append(("imports", 0, began, ticks()))
    for owner, name, how, said in (
        (session, "testbed_of", timed_context, "testbed"),
        (OpenBrowsers, "started", timed_context, "browser"),
        (session.Session, "_rehearse_in", timed, "rehearsal"),
        (session, "visit", timed, "visit"),
        (chromium.Chromium, "fresh_tab", timed_context, "tab"),
        (loader.Loader, "fresh_tab", timed_context, "tab"),
        (chromium.ChromiumTab, "load", timed, "load"),
        (loader.LoaderTab, "load", timed, "load"),
        (chromium.ChromiumTab, "with_digests", timed, "digests"),
        (drive.Wire, "keep", timed, "evidence of the wire"),
        (guest.os, "sync", timed, "sync"),
    ):
        setattr(owner, name, how(said, getattr(owner, name)))
    try:
        guest.main(folder, capsule)
        (folder / SPANS).write_text(json.dumps(_spans))
    finally:
        guest.os.sync()
        ctypes.CDLL(None).reboot(guest._POWER_OFF)


def main() -> None:
    from dragstrip.execution.guest import boot
    from dragstrip.model.clock import NETWORK
    from dragstrip.model.study import Client
    from dragstrip.study.clients import loaded_by
    from dragstrip.study.presets import find_network, find_stack
    from dragstrip.study.spec import StudySpec

    asked = arguments()
    script = Path(__file__).resolve()
    boot._INIT = boot._INIT.replace(
        "-m dragstrip.execution.guest.inside", str(script) + " --inside"
    )
    stacks = [find_stack(name) for name in asked.stack]
    with tempfile.TemporaryDirectory() as cache:
        study = StudySpec(
            name="where",
            pages=[asked.page],
            networks=[find_network(asked.network)],
            stacks=loaded_by(stacks, asked.client) if asked.client else stacks,
            runs=asked.blocks,
            seed=1,
            client=Client(),
            clock=NETWORK,
        ).resolve(Path(cache))
        per_s = tick_rate()
        began = ticks()
        spans, ended = made(study)
    print(f"{(spans[0][2] - began) / per_s:7.2f}  boot and Python")
    for name, depth, first, last in spans:
        print(f"{(last - first) / per_s:7.2f}  {'  ' * depth}{name}")
    print(f"{(ended - spans[-1][3]) / per_s:7.2f}  off")
    print(f"{(ended - began) / per_s:7.2f}  all")


def made(study: "Study") -> tuple[list[Any], int]:
    from dragstrip.execution.guest.job import BlockJob
    from dragstrip.execution.guest.run import guest_run
    from dragstrip.execution.guest.session import seed_of

    blocks = tuple(study.blocks())
    job = BlockJob(study=study, blocks=blocks, attempt=0, artefacts=False)
    with guest_run(job, study.clock, seed_of(study, blocks[0].id, 0)) as run:
        list(run.results())
        run._guest._process.wait()
        return json.loads((run._folder / SPANS).read_text()), ticks()


def tick_rate() -> float:
    began, at = ticks(), time.monotonic()
    time.sleep(0.3)
    return (ticks() - began) / (time.monotonic() - at)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--page", default="demo")
    parser.add_argument("--network", default="LTE")
    parser.add_argument("--stack", action="append")
    parser.add_argument("--client", default="")
    parser.add_argument("--blocks", type=int, default=1)
    asked = parser.parse_args()
    asked.stack = asked.stack or ["h1", "h2", "h3"]
    return asked


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        inside(Path(sys.argv[2]), Path(sys.argv[3]))
    else:
        main()
