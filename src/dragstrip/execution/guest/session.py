"""A session in virtual time, with one guest per batch of blocks."""

import contextlib
import glob
import hashlib
import shutil
from collections.abc import Iterator
from pathlib import Path

from msgspec import structs

from dragstrip.execution.guest.job import BlockJob
from dragstrip.execution.guest.run import STILL_S, GuestRun, guest_run
from dragstrip.execution.orders import MadeVisit, Visitor, VisitOrder
from dragstrip.model.study import Block, Study
from dragstrip.model.visit import OF_BROWSERS
from dragstrip.schedule.batch import batches
from dragstrip.testbed.errors import TestbedError
from dragstrip.testbed.workspace import workspace


@contextlib.contextmanager
def guest_session(
    study: Study, artefacts: Path | None = None, still_s: float = STILL_S
) -> Iterator[Visitor]:
    """Open a session that makes each batch in one guest.

    The guest always begins with the batch's first block and ends with the last block that was
    ordered. So a visit does not depend on where an earlier run stopped. A block that is attempted
    again has its own guest. Raises as `visit_session` does.
    """
    with _Blocks(study, artefacts, still_s) as blocks:
        yield blocks.visit


class _Blocks:
    def __init__(self, study: Study, artefacts: Path | None, still_s: float) -> None:
        self._study = study
        self._artefacts = artefacts
        self._still_s = still_s
        self._batch = {block.id: batch for batch in batches(study) for block in batch}
        self._open = contextlib.ExitStack()
        self._running: _Guest | None = None

    def __enter__(self) -> "_Blocks":
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def visit(self, order: VisitOrder) -> MadeVisit:
        """Make a visit. Raises the guest's exception, and `GuestEnded` if the guest died or
        hangs."""
        if self._running is None or not self._running.makes(order):
            self._open.close()
            self._running = None
            self._running = self._start(order)
        try:
            result = self._running.made(order)
            if self._running.over(order):
                self._running.finish()
        except BaseException:
            self._open.close()
            self._running = None
            raise
        visit, load = result
        return structs.replace(visit, clock=self._study.clock.kind), load

    def _start(self, order: VisitOrder) -> "_Guest":
        blocks = self._blocks(order)
        job = BlockJob(
            study=self._study.part(blocks),
            blocks=blocks,
            attempt=order.attempt,
            artefacts=self._artefacts is not None,
        )
        seed = seed_of(self._study, blocks[0].id, order.attempt)
        folder = self._open.enter_context(workspace()) if self._artefacts else None
        run = guest_run(job, self._study.clock, seed, folder, self._still_s)
        return _Guest(self._open.enter_context(run), job, folder, self._artefacts)

    def _blocks(self, order: VisitOrder) -> tuple[Block, ...]:
        """Return the blocks that a guest makes for this order and the orders after it."""
        if order.attempt:
            return (order.block,)
        batch = self._batch[order.block.id]
        last = next(n for n, b in enumerate(batch) if b.id == (order.last or order.block.id))
        return batch[: last + 1]


class _Guest:
    """A guest that makes an attempt at blocks.

    The guest writes artefacts into a new folder, because existing files in the capsule would shift
    its clock by microseconds. Artefacts of ordered visits are then moved to the capsule. Visits
    that the capsule had before keep their artefacts.
    """

    def __init__(
        self, run: GuestRun, job: BlockJob, folder: Path | None, capsule: Path | None
    ) -> None:
        self._run = run
        self._own, self._capsule = folder, capsule
        self._attempt = job.attempt
        visits = [(block.id, stack) for block in job.blocks for stack in block.order]
        self._number = {visit: number for number, visit in enumerate(visits)}
        self._given: set[int] = set()

    def makes(self, order: VisitOrder) -> bool:
        """Return whether the guest will still make this visit.

        A guest that made the visit before will not: a second order means that the visit is to be
        repeated.
        """
        number = self._number.get((order.block.id, order.stack))
        return order.attempt == self._attempt and number is not None and number not in self._given

    def over(self, order: VisitOrder) -> bool:
        """Return whether this visit is the guest's last."""
        return self._number[order.block.id, order.stack] == len(self._number) - 1

    def made(self, order: VisitOrder) -> MadeVisit:
        number = self._number[order.block.id, order.stack]
        result: MadeVisit = self._run.result(number)
        self._given.add(number)
        self._keep(f"*/{glob.escape(result[0].file_name)}.*")
        return result

    def finish(self) -> None:
        self._run.finish()
        self._keep(f"{OF_BROWSERS}/*")

    def _keep(self, files: str) -> None:
        if self._own is None or self._capsule is None:
            return
        for file in self._own.glob(files):
            target = self._capsule / file.relative_to(self._own)
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.move(file, target)
            except OSError as error:
                raise TestbedError(f"{target} cannot be written: {error.strerror}") from error


def seed_of(study: Study, block: str, attempt: int) -> int:
    """Return the seed of all random numbers in the guest: 63 bits.

    The seed follows from the study's seed, the guest's first block and the attempt. So different
    guests have different seeds, and a repeated guest has the same seed.
    """
    text = f"{study.seed}:{block}:{attempt}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]) >> 1
