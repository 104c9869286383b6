"""Where a worker makes visits in virtual time: a guest of its own for every attempt at a block, or
for the first attempt at all blocks of a batch."""

import contextlib
import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import structs

from dragstrip.model.study import Block, Study
from dragstrip.schedule.worker import Made, Order, Visitor
from dragstrip.virtual.errand import STILL_S, Errand, errand
from dragstrip.virtual.job import BlockJob


@contextlib.contextmanager
def in_guest(
    study: Study, artefacts: Path | None = None, still_s: float = STILL_S
) -> Iterator[Visitor]:
    """A guest makes the whole block, or batch, whichever visit is asked for first: what a visit
    finds does not depend on where an earlier run stopped. Raises as `in_testbed` does."""
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
        if self._running is None or not self._running.has(order):
            self._open.close()
            self._running = None
            self._running = self._start(order)
        try:
            made = self._running.made(order)
            if self._running.last(order):
                self._running.finish()
        except BaseException:
            self._open.close()
            self._running = None
            raise
        visit, load = made
        return structs.replace(visit, clock=self._study.clock.kind), load

    def _start(self, order: Order) -> "_Attempt":
        # A block that has to be made again is not to meet what its batch made of the guest.
        blocks = (order.block,) if order.attempt else self._study.together(order.block)
        job = BlockJob(
            study=self._study.part(blocks),
            blocks=blocks,
            attempt=order.attempt,
            artefacts=self._artefacts is not None,
        )
        seed = seed_of(self._study, blocks[0].id, order.attempt)
        sent = errand(job, self._study.clock, seed, self._artefacts, self._still_s)
        return _Attempt(self._open.enter_context(sent), blocks, order.attempt)


class _Attempt:
    """A guest at work on an attempt at blocks."""

    def __init__(self, sent: Errand, blocks: Sequence[Block], attempt: int) -> None:
        self.finish = sent.finish
        self._sent = sent
        wanted = [(block.id, attempt, stack) for block in blocks for stack in block.order]
        self._numbers = {visit: number for number, visit in enumerate(wanted)}
        self._given: set[int] = set()

    def has(self, order: Order) -> bool:
        """It makes this visit and has not given it out; then it would have to be made again."""
        number = self._numbers.get(_key(order))
        return number is not None and number not in self._given

    def last(self, order: Order) -> bool:
        return self._numbers[_key(order)] == len(self._numbers) - 1

    def made(self, order: Order) -> Made:
        number = self._numbers[_key(order)]
        found: Made = self._sent.result(number)
        self._given.add(number)
        return found


def _key(order: Order) -> tuple[str, int, str]:
    return order.block.id, order.attempt, order.stack


def seed_of(study: Study, block: str, attempt: int) -> int:
    """Of everything random in the guest: 63 bits that follow from the study's seed and the attempt
    at the block, so that blocks differ and a repetition does not."""
    text = f"{study.seed}:{block}:{attempt}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]) >> 1
