"""Where a worker makes visits in virtual time: a guest of its own for every attempt at a block."""

import contextlib
import hashlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import structs

from dragstrip.browsers.cdp import CdpError
from dragstrip.model.study import Study
from dragstrip.schedule.worker import Made, Order, Visitor
from dragstrip.testbed.errors import TestbedError
from dragstrip.testbed.workspace import workspace
from dragstrip.virtual.guest import Guest, guest
from dragstrip.virtual.job import ALIVE, CAPSULE, ENDED, JOB, Job, read, visit_file, write
from dragstrip.virtual.kernel.recipe import kernel

STILL_S = 120.0
"""How long virtual time may stand still, in seconds of this machine's time."""
_LOOK_S = 0.02


@contextlib.contextmanager
def in_guest(
    study: Study, artefacts: Path | None = None, still_s: float = STILL_S
) -> Iterator[Visitor]:
    """A guest makes the whole block, whichever stack is asked for first: what a visit finds does
    not depend on where an earlier run stopped. Raises as `in_testbed` does."""
    with _Blocks(study, artefacts, still_s) as blocks:
        yield blocks.visit


class _Blocks:
    def __init__(self, study: Study, artefacts: Path | None, still_s: float) -> None:
        self._study = study
        self._artefacts = artefacts
        self._still_s = still_s
        self._kernel = kernel()
        self._open = contextlib.ExitStack()
        self._running: _Attempt | None = None

    def __enter__(self) -> "_Blocks":
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def visit(self, order: Order) -> Made:
        """Raises `CdpError` or `TestbedError`, whether the guest did or died."""
        key = order.block.id, order.attempt
        if self._running is None or self._running.key != key or self._running.passed(order):
            self._open.close()
            self._running = None
            self._running = self._start(order)
        try:
            made = self._running.made(order)
            if order.stack == order.block.order[-1]:
                self._running.finish()
        except BaseException:
            self._open.close()
            self._running = None
            raise
        visit, load = made
        return structs.replace(visit, clock=self._study.clock.kind), load

    def _start(self, order: Order) -> "_Attempt":
        folder = self._open.enter_context(workspace())
        if self._artefacts:
            (folder / CAPSULE).symlink_to(self._artefacts.absolute())
        job = Job(
            study=self._study,
            block=order.block,
            attempt=order.attempt,
            artefacts=self._artefacts is not None,
        )
        write(folder, JOB, job)
        seed = seed_of(self._study, order.block.id, order.attempt)
        running = guest(self._kernel, folder, self._study.clock, seed)
        return _Attempt(self._open.enter_context(running), folder, order, self._still_s)


class _Attempt:
    """A guest at work on an attempt at a block."""

    def __init__(self, running: Guest, folder: Path, order: Order, still_s: float) -> None:
        self.key = order.block.id, order.attempt
        self._guest = running
        self._folder = folder
        self._still_s = still_s
        self._given: set[str] = set()

    def passed(self, order: Order) -> bool:
        """It was given out already, so it is to be made again."""
        return order.stack in self._given

    def made(self, order: Order) -> Made:
        found: Made = self._await(visit_file(order.block.order.index(order.stack)))
        self._given.add(order.stack)
        return found

    def finish(self) -> None:
        """Wait until the guest has put away what belongs to no single visit."""
        self._await(ENDED)

    def _await(self, name: str) -> Any:
        beat, since = self._beat(), time.monotonic()
        while True:
            running = self._guest.running
            if (self._folder / name).exists():
                return read(self._folder, name)
            if (self._folder / ENDED).exists():
                error = read(self._folder, ENDED)
                raise error or CdpError("the guest ended before its visits were made")
            if not running:
                raise CdpError(f"the guest ended: {self._guest.last_words()}")
            if (now := self._beat()) != beat:
                beat, since = now, time.monotonic()
            elif time.monotonic() - since > self._still_s:
                raise TestbedError(
                    f"virtual time stood still for {self._still_s:.0f} s in block {self.key[0]}: "
                    "something in the page, the browser or the server computes for ever, and "
                    "computing takes no virtual time; race this page in real time"
                )
            time.sleep(_LOOK_S)

    def _beat(self) -> bytes:
        with contextlib.suppress(FileNotFoundError):
            return (self._folder / ALIVE).read_bytes()
        return b""


def seed_of(study: Study, block: str, attempt: int) -> int:
    """Of everything random in the guest: 63 bits that follow from the study's seed and the attempt
    at the block, so that blocks differ and a repetition does not."""
    text = f"{study.seed}:{block}:{attempt}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]) >> 1
