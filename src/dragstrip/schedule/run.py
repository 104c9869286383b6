"""Runs a study block by block, from wherever an earlier run stopped."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from dragstrip.browsers.cdp import CdpError
from dragstrip.browsers.load import Load
from dragstrip.model.study import Block, Study
from dragstrip.model.thresholds import Thresholds
from dragstrip.model.visit import Visit
from dragstrip.schedule.lab import lab
from dragstrip.testbed.errors import TestbedError
from dragstrip.visit.block_checks import uneven_misses
from dragstrip.visit.drive import Plan
from dragstrip.visit.host import await_quiet
from dragstrip.visit.picture import recorded

_BROWSER_CRASHES = 3

Keep = Callable[[Visit, Load], None]
"""Called with every visit as soon as it is made; must store it before it returns."""


class Task(Struct, frozen=True, kw_only=True):
    """A visit that is still to be made."""

    block: Block
    attempt: int
    stack: str


class Schedule:
    """What has been visited and what is next. Knows nothing of testbeds, so it is easily tested."""

    def __init__(self, study: Study, done: Iterable[Visit]) -> None:
        self.study = study
        self._blocks = tuple(study.blocks())
        self._visits: dict[tuple[str, int], dict[str, Visit]] = {}
        self._settled: set[str] = set()
        self._recorded: dict[str, bytes] = {}
        for visit in done:
            self.add(visit)

    def add(self, visit: Visit) -> None:
        self._visits.setdefault((visit.block, visit.attempt), {})[visit.stack] = visit

    def tasks(self) -> Iterator[Task]:
        """What is left, in order. A block is rerun while it is invalid and reruns are left.

        Reruns come after all blocks, for a host that was too busy is likely to be so for a while.
        Lazy: each task must be added (see `add`) before the next one is asked for.
        """
        for attempt in range(self.study.reruns + 1):
            for block in self._blocks:
                while self._open_attempt(block) == attempt:
                    made = self._made(block, attempt)
                    stack = next(s for s in block.order if s not in made)
                    yield Task(block=block, attempt=attempt, stack=stack)

    def reference(self, page: str) -> bytes:
        """The recording's picture, or else the final one of the page's first valid visit.

        Empty where there is neither, or frames are not looked at.
        """
        if not self.study.client.frames:
            return b""
        if page not in self._recorded:
            self._recorded[page] = recorded(self.study.page(page), self.study.client)
        if self._recorded[page]:
            return self._recorded[page]
        seen = (v for made in self._visits.values() for v in made.values() if v.page == page)
        return next((v.visual.final for v in seen if v.visual and v.valid and v.plt_ms), b"")

    def visits_made(self) -> int:
        return sum(len(made) for made in self._visits.values())

    def visits_left(self) -> int:
        """Visits still to be made if none of them turns out invalid."""
        left = 0
        for block in self._blocks:
            attempt = self._open_attempt(block)
            if attempt is not None:
                left += len(block.order) - len(self._made(block, attempt))
        return left

    def _open_attempt(self, block: Block) -> int | None:
        """The attempt that still lacks visits; None if the block is valid or given up."""
        if block.id in self._settled:
            return None
        for attempt in range(self.study.reruns + 1):
            visits = self._made(block, attempt)
            if any(stack not in visits for stack in block.order):
                return attempt
            made = list(visits.values())
            if all(v.valid for v in made) and not uneven_misses(made):
                break
        self._settled.add(block.id)
        return None

    def _made(self, block: Block, attempt: int) -> dict[str, Visit]:
        return self._visits.get((block.id, attempt), {})


def run(schedule: Schedule, keep: Keep, artefacts: Path | None = None) -> None:
    """Make every visit that is left, adding each to the schedule and handing it to `keep`.

    A browser that crashes is restarted and its visit made again; nothing of a crashed visit is
    kept. What belongs to a whole browser (its NetLog) goes to `artefacts`. Raises `TestbedError` if
    the testbed cannot be had or the browser crashes repeatedly.
    """
    study = schedule.study
    tasks = schedule.tasks()
    task = next(tasks, None)
    broken = 0
    while task:
        try:
            with lab(study, artefacts) as place:
                while task:
                    if task.attempt and task.stack == task.block.order[0]:
                        await_quiet(Thresholds())  # a busy host is why most blocks are rerun
                    visit, load = place.visit(_plan(schedule, task))
                    schedule.add(visit)
                    keep(visit, load)
                    broken, task = 0, next(tasks, None)
        except CdpError as error:
            broken += 1
            if broken == _BROWSER_CRASHES:
                raise TestbedError(f"the browser broke {broken} times: {error}") from error


def _plan(schedule: Schedule, task: Task) -> Plan:
    study = schedule.study
    return Plan(
        block=task.block,
        attempt=task.attempt,
        page=study.page(task.block.page),
        network=study.network(task.block.network),
        stack=study.stack(task.stack),
        client=study.client,
        thresholds=Thresholds(),
        reference=schedule.reference(task.block.page),
    )
