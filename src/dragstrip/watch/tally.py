"""Summarises a study's visits so far, updated with each visit."""

import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from dragstrip.model.study import CellKey, Study
from dragstrip.model.visit import Visit
from dragstrip.stats.block_ratio import FAILED, ratio
from dragstrip.verdict.block_checks import against


class LiveRatio(Struct, frozen=True, kw_only=True):
    """Page load time of a stack relative to that of the study's first stack."""

    stack: str
    ratio: float | None
    """The ratio; None if most loads of this stack, or of the first, failed."""
    low: float | None
    high: float | None


class CellNow(Struct, frozen=True, kw_only=True):
    number: int
    """Number of the cell in the study."""
    counted: int
    """Number of blocks that count."""
    given_up: int
    running: bool
    """Whether a block was begun and is not complete."""
    comparisons: tuple[LiveRatio, ...]


class StudyStanding(Struct, frozen=True, kw_only=True):
    visits: int
    left: int
    """Visits still to be made, if no visit is invalid and no cell stops early."""
    reasons: dict[str, int]
    """Number of invalid visits by their first reason."""
    machines: dict[str, dict[str, int]]
    """Number of visits of each machine, and how many of them are invalid."""


class _Cell:
    def __init__(self) -> None:
        self.ratios: dict[str, list[tuple[float, float]]] = {}
        """Load times in ms of the first stack and of another stack, block by block, by name of the
        other."""
        self.counted = 0
        self.given_up = 0
        self.open: dict[tuple[str, int], dict[str, Visit]] = {}


class StudyTally:
    """Counts by the rules that decide which blocks count; see `dragstrip.results.blocks`."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self._stacks = [s.name for s in study.stacks]
        self.cells = study.cells()
        self._numbers = {cell: number for number, cell in enumerate(self.cells)}
        self._by_cell = {cell: _Cell() for cell in self.cells}
        self._reasons: Counter[str] = Counter()
        self._machines: dict[str, Counter[str]] = {}
        self._visits = 0

    def add(self, visit: Visit) -> int | None:
        """Add a visit; returns its cell's number, or None if the study no longer has the cell."""
        self._visits += 1
        of_machine = self._machines.setdefault(visit.machine, Counter())
        of_machine["visits"] += 1
        if not visit.valid:
            self._reasons[visit.reasons[0].code] += 1
            of_machine["invalid"] += 1
        if (cell := self._by_cell.get(visit.cell)) is None:
            return None
        attempt = cell.open.setdefault((visit.block, visit.attempt), {})
        attempt[visit.stack] = visit
        if len(attempt) == self.study.visits_of(visit.block):
            del cell.open[visit.block, visit.attempt]
            self._settle(cell, attempt)
        return self._numbers[visit.cell]

    def cell(self, number: int) -> CellNow:
        cell = self._by_cell[self.cells[number]]
        return CellNow(
            number=number,
            counted=cell.counted,
            given_up=cell.given_up,
            running=bool(cell.open),
            comparisons=tuple(self._comparisons(cell)),
        )

    def standing(self) -> StudyStanding:
        blocks = sum(self._left(cell) for cell in self._by_cell.values())
        begun = sum(len(a) for cell in self._by_cell.values() for a in cell.open.values())
        return StudyStanding(
            visits=self._visits,
            left=max(0, round(blocks * self.study.visits_per_block) - begun),
            reasons=dict(self._reasons.most_common()),
            machines={
                name: {"visits": n["visits"], "invalid": n["invalid"]}
                for name, n in sorted(self._machines.items())
            },
        )

    def _left(self, cell: _Cell) -> int:
        return max(0, self.study.runs - cell.counted - cell.given_up)

    def _settle(self, cell: _Cell, made: dict[str, Visit]) -> None:
        visits = list(made.values())
        if any(not v.valid for v in visits) or against(self.study, visits):
            cell.given_up += visits[0].attempt >= self.study.reruns
            return
        cell.counted += 1
        first = _load_ms(made[self._stacks[0]])
        for name in self._stacks[1:]:
            cell.ratios.setdefault(name, []).append((first, _load_ms(made[name])))

    def _comparisons(self, cell: _Cell) -> Iterator[LiveRatio]:
        for stack, pairs in cell.ratios.items():
            estimate = ratio([a for a, _ in pairs], [b for _, b in pairs])
            yield LiveRatio(
                stack=stack,
                ratio=_finite(estimate.value),
                low=_finite(estimate.low),
                high=_finite(estimate.high),
            )


def _load_ms(visit: Visit) -> float:
    loaded = visit.outcome == "loaded" and visit.plt_ms
    return float(visit.plt_ms) if loaded and visit.plt_ms else FAILED


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def describe(cell: CellKey) -> dict[str, Any]:
    page, network, connection = cell
    return {"page": page, "network": network, "connection": connection}
