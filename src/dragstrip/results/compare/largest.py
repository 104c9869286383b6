"""Finds the largest differences in a capsule, for `dragstrip why` to explain."""

from collections.abc import Sequence
from itertools import combinations
from math import log

from msgspec import Struct

from dragstrip.model.errors import InputError
from dragstrip.model.stack import Stack
from dragstrip.model.study import CellKey, Study
from dragstrip.results.capsule import Capsule
from dragstrip.results.compare.stacks import compare_stacks
from dragstrip.results.observed import observed
from dragstrip.results.tables.build import refresh, scan


class PairCells(Struct, frozen=True):
    """Cells of a study in which one pair of stacks differs."""

    study: Study
    a: Stack
    b: Stack
    cells: tuple[CellKey, ...]


def largest_differences(
    capsule: Capsule, metric: str, most: int, pair: tuple[Stack, Stack] | None = None
) -> list[PairCells]:
    """Find the cells with the largest ratios whose 95 % interval excludes 1, grouped by pair of
    stacks. Only `pair` is searched if it is given. Raises `InputError` if there are none."""
    study = capsule.manifest.study
    refresh(capsule)
    pairs: Sequence[tuple[Stack, Stack]] = [pair] if pair else list(combinations(study.stacks, 2))
    found: list[tuple[float, Stack, Stack, CellKey]] = []
    for cell in observed(study, scan(capsule, "visits")):
        for a, b in pairs:
            c = compare_stacks(cell, a.name, b.name, metric)
            if c and c.low is not None and c.high is not None and not c.low <= 1 <= c.high:
                key: CellKey = (cell.page, cell.network, cell.connection)
                found.append((abs(log(c.ratio)), a, b, key))
    if not found:
        raise InputError(f"{capsule.path} shows no difference in {metric} to explain")
    found.sort(key=lambda one: -one[0])
    by_pair: dict[tuple[str, str], PairCells] = {}
    for _, a, b, key in found[:most]:
        before = by_pair.get((a.name, b.name), PairCells(study, a, b, ()))
        by_pair[a.name, b.name] = PairCells(study, a, b, (*before.cells, key))
    return list(by_pair.values())
