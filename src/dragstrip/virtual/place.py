"""Where a worker makes visits in virtual time: a guest of its own for every attempt at a block."""

import contextlib
import hashlib
from collections.abc import Iterator
from pathlib import Path

from msgspec import structs

from dragstrip.model.study import Study
from dragstrip.model.visit import file_name
from dragstrip.schedule.worker import Made, Order, Visitor
from dragstrip.virtual.errand import STILL_S, Errand, errand
from dragstrip.virtual.job import BlockJob


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
        job = BlockJob(
            study=self._study,
            block=order.block,
            attempt=order.attempt,
            artefacts=self._artefacts is not None,
        )
        if self._artefacts:
            _make_room(self._artefacts, self._study, order)
        seed = seed_of(self._study, order.block.id, order.attempt)
        sent = errand(job, self._study.clock, seed, self._artefacts, self._still_s)
        return _Attempt(self._open.enter_context(sent), order)


class _Attempt:
    """A guest at work on an attempt at a block."""

    def __init__(self, sent: Errand, order: Order) -> None:
        self.key = order.block.id, order.attempt
        self.finish = sent.finish
        self._sent = sent
        self._given: set[str] = set()

    def passed(self, order: Order) -> bool:
        """It was given out already, so it is to be made again."""
        return order.stack in self._given

    def made(self, order: Order) -> Made:
        found: Made = self._sent.result(order.block.order.index(order.stack))
        self._given.add(order.stack)
        return found


def _make_room(capsule: Path, study: Study, order: Order) -> None:
    """Every guest finds the same folders and none of its files, whatever was made before: its clock
    notices by microseconds whether it has to make a folder."""
    client = study.client
    wanted = {"pcap": client.pcap, "qlog": client.qlog, "netlog": client.net_log}
    for folder in (capsule / name for name, is_wanted in wanted.items() if is_wanted):
        folder.mkdir(parents=True, exist_ok=True)
        for stack in order.block.order:
            name = file_name(order.block.id, stack, order.attempt)
            for suffix in ("pcapng", "keys", "qlog"):
                (folder / f"{name}.{suffix}").unlink(missing_ok=True)


def seed_of(study: Study, block: str, attempt: int) -> int:
    """Of everything random in the guest: 63 bits that follow from the study's seed and the attempt
    at the block, so that blocks differ and a repetition does not."""
    text = f"{study.seed}:{block}:{attempt}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]) >> 1
