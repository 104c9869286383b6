"""Keeps track of visits that were made, and decides which come next. The module knows nothing about
testbeds, so it is easy to test."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from heapq import heapify, heappop, heappush

from msgspec import Struct, structs

from dragstrip.model.study import Block, CellKey, Study
from dragstrip.model.visit import BlockVisits, StopRule, Visit
from dragstrip.schedule.batch import batches
from dragstrip.verdict.block_checks import against
from dragstrip.verdict.judge import Judge

WINDOW = 64
"""Most blocks that are skipped to find one that can start now. This limits how far the cells of a
study drift apart."""

_Turn = tuple[int, int, int]
"""Restart, attempt and number of a block: the lowest comes first."""


class Attempt(Struct, frozen=True, kw_only=True):
    """One attempt at a block, and the stacks whose visits it still lacks, in order."""

    block: Block
    attempt: int
    stacks: tuple[str, ...]
    more: tuple["Attempt", ...] = ()
    """The other blocks of its batch that lack visits, attempted right after it."""

    @property
    def parts(self) -> tuple["Attempt", ...]:
        """The attempts at all blocks of the batch, block by block."""
        return structs.replace(self, more=()), *self.more

    @property
    def visits(self) -> int:
        """Number of visits that the attempt still lacks."""
        return sum(len(part.stacks) for part in self.parts)


class Schedule:
    """Hands out attempts at blocks and takes visits back, in any number at once.

    Blocks are ordered by run: every cell gets a first block before any gets a second. A block is
    handed out together with the others of its batch that lack visits (`dragstrip.schedule.batch`).
    An invalid block is attempted again while reruns are left. This happens after all other blocks
    of its restart, because a host that was too busy is likely to stay so for a while. If `stop` is
    given, a cell gets blocks up to its next look, and none after `stop` returns true. Blocks for
    which `mine` is false belong to other shards. Two machines never share a block: if an earlier
    start left an attempt unfinished and `continues` is false for its visits, the attempt stays
    incomplete and its block is attempted again.
    """

    def __init__(
        self,
        study: Study,
        done: Iterable[Visit] = (),
        stop: StopRule | None = None,
        mine: Callable[[Block], bool] = lambda _: True,
        continues: Callable[[Visit], bool] = lambda _: True,
    ) -> None:
        self.study = study
        self._stop = stop
        self._blocks = tuple(filter(mine, study.blocks()))
        self._batch = {block.id: batch for batch in batches(study) for block in batch}
        self._numbers = {block.id: number for number, block in enumerate(self._blocks)}
        self._made: dict[tuple[str, int], dict[str, Visit]] = {}
        self._valid: dict[tuple[str, int], bool] = {}
        """Whether each complete attempt, by block and number, is valid."""
        self._settled: dict[str, BlockVisits] = {}
        """Blocks that are finished: the visits of valid blocks; empty for blocks that were given
        up."""
        self._count = 0
        self._judge = Judge(study)
        for visit in done:
            self._keep(visit)
        self._cut: dict[str, set[int]] = {}
        """Attempts, by block, that stay incomplete."""
        for (block_id, number), made in self._made.items():
            if (block_id, number) not in self._valid and not all(map(continues, made.values())):
                self._cut.setdefault(block_id, set()).add(number)
        self._cells = {cell: _Cell(blocks, study) for cell, blocks in self._by_cell().items()}
        self.left: Counter[CellKey] = Counter()
        """Number of visits left on each cell, if no visit is invalid and no cell stops early."""
        self._open: list[_Turn] = []
        for number, block in enumerate(self._blocks):
            attempt = self._attempt_of(block)
            if attempt is not None:
                self.left[block.cell] += len(block.order) - len(self._of(block, attempt))
                if block.index < self._cells[block.cell].limit:
                    self._open.append(self._turn(attempt, number))
        heapify(self._open)
        if stop:
            for cell in self._cells.values():
                self._look(cell)

    def take(self, admit: Callable[[Block], bool] = lambda _: True) -> Attempt | None:
        """Take the next attempt whose block is admitted; None if there is none. No other caller
        gets the attempt until it is given back."""
        passed: list[_Turn] = []
        found = None
        while self._open and not found and len(passed) < WINDOW:
            _, attempt, number = candidate = heappop(self._open)
            block = self._blocks[number]
            if admit(block):
                found = self._with_batch(block, attempt)
            else:
                passed.append(candidate)
        for candidate in passed:
            heappush(self._open, candidate)
        return found

    def _with_batch(self, block: Block, attempt: int) -> Attempt:
        """Return an attempt at the block together with the rest of its batch, and mark their blocks
        as taken. A repeated attempt has only its own block, because the others may be valid by
        then."""
        together = [block]
        if not attempt and len(self._batch[block.id]) > 1:
            turns = {
                self._turn(0, self._numbers[b.id]): b
                for b in self._batch[block.id]
                if b.id in self._numbers
            }
            taken = turns.keys() & self._open
            self._open = [turn for turn in self._open if turn not in taken]
            heapify(self._open)
            together = [b for turn, b in turns.items() if turn in taken or b == block]
        first, *more = (self._attempt_at(one, attempt) for one in together)
        return structs.replace(first, more=tuple(more))

    def _attempt_at(self, block: Block, attempt: int) -> Attempt:
        made = self._of(block, attempt)
        left = tuple(stack for stack in block.order if stack not in made)
        return Attempt(block=block, attempt=attempt, stacks=left)

    @property
    def waiting(self) -> bool:
        """Whether any attempt can be taken."""
        return bool(self._open)

    def give_back(self, attempt: Attempt) -> None:
        """Release an attempt; if it lacks visits, it can be taken again."""
        for part in attempt.parts:
            due = self._turn(part.attempt, self._numbers[part.block.id])
            if self._attempt_of(part.block) == part.attempt and due not in self._open:
                heappush(self._open, due)

    def add(self, visit: Visit) -> None:
        """Add a new visit."""
        block = self._blocks[self._numbers[visit.block]]
        self._keep(visit)
        self.left[block.cell] -= 1
        if len(self._of(block, visit.attempt)) < len(block.order):
            return
        attempt = self._attempt_of(block)
        if attempt is not None:
            self.left[block.cell] += len(block.order)
            heappush(self._open, self._turn(attempt, self._numbers[block.id]))
        elif self._stop:
            self._look(self._cells[block.cell])

    def _turn(self, attempt: int, number: int) -> "_Turn":
        return self.study.restart_of(self._blocks[number]), attempt, number

    def judged(self, visit: Visit) -> Visit:
        """Return a new visit with the verdict on its own evidence."""
        return self._judge.judged(visit)

    def visits_made(self) -> int:
        return self._count

    def visits_left(self) -> int:
        """Return the number of visits left, if no visit is invalid and no cell stops early."""
        return self.left.total()

    def decided(self) -> list[CellKey]:
        """Return cells that were stopped early."""
        return [key for key, cell in self._cells.items() if cell.decided]

    def _by_cell(self) -> dict[CellKey, list[Block]]:
        cells: dict[CellKey, list[Block]] = {}
        for block in self._blocks:
            cells.setdefault(block.cell, []).append(block)
        return cells

    def _keep(self, visit: Visit) -> None:
        self._count += 1
        self._judge.saw(visit)
        attempt = visit.block, visit.attempt
        made = self._made.setdefault(attempt, {})
        made[visit.stack] = visit
        number = self._numbers.get(visit.block)
        if number is not None and made.keys() >= set(self._blocks[number].order):
            visits = list(made.values())
            self._valid[attempt] = all(v.valid for v in visits) and not against(self.study, visits)
            self._made[attempt] = {stack: _slim(v) for stack, v in made.items()}

    def _attempt_of(self, block: Block) -> int | None:
        """Return the number of the attempt that lacks visits; None if the block is valid or given
        up."""
        if block.id in self._settled:
            return None
        for attempt in self._attempts(block):
            made = self._of(block, attempt)
            if any(stack not in made for stack in block.order):
                return attempt
            if self._valid[block.id, attempt]:
                self._settle(block, made)
                return None
        self._settle(block, {})
        return None

    def _settle(self, block: Block, visits: BlockVisits) -> None:
        self._settled[block.id] = visits if self._stop else {}
        for attempt in self._attempts(block):
            self._made.pop((block.id, attempt), None)
            self._valid.pop((block.id, attempt), None)

    def _attempts(self, block: Block) -> Iterator[int]:
        """Return the numbers of the block's possible attempts, without attempts that stay
        incomplete."""
        cut = self._cut.get(block.id, set())
        return (n for n in range(self.study.reruns + 1 + len(cut)) if n not in cut)

    def _of(self, block: Block, attempt: int) -> dict[str, Visit]:
        return self._made.get((block.id, attempt), {})

    def _look(self, cell: "_Cell") -> None:
        """Stop the cell if its visits decide it, otherwise release its blocks up to the next
        look."""
        while not cell.decided and all(b.id in self._settled for b in cell.given_out()):
            assert self._stop
            found = [self._settled[b.id] for b in cell.given_out()]
            rest = cell.blocks[cell.limit :]
            if not rest:
                return
            if self._stop([visits for visits in found if visits]):
                cell.decided = True
                del self.left[rest[0].cell]
                return
            cell.next_look()
            for block in cell.given_out():
                attempt = self._attempt_of(block)
                if attempt is not None:
                    heappush(self._open, self._turn(attempt, self._numbers[block.id]))


class _Cell:
    """A cell's blocks, ordered by index, and how many of them are released."""

    def __init__(self, blocks: list[Block], study: Study) -> None:
        self.blocks = blocks
        self.decided = False
        self._looks: Iterator[int] = iter(study.looks())
        self.limit = next(self._looks)

    def given_out(self) -> list[Block]:
        return self.blocks[: self.limit]

    def next_look(self) -> None:
        self.limit = next(self._looks)


def _slim(visit: Visit) -> Visit:
    """Return the visit reduced to what a stop rule needs: the evidence of a large study would fill
    the memory."""
    bare = {"requests": (), "served": (), "connections": (), "visual": None, "link": None}
    return structs.replace(visit, **bare)
