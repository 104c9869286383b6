"""Tests whether machines disagree.

A machine's speed affects both visits of a pair, so it cancels in their ratio. A difference remains
if a machine treats one stack differently from other machines.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import polars as pl
from msgspec import Struct

from dragstrip.model.study import Study
from dragstrip.results.observed import Observed, observed
from dragstrip.stats.groups.odd_ones import odd_ones
from dragstrip.stats.holm import holm

_LEAST = 2
"""Blocks that each of at least two machines must have on a cell."""
_FEW = 3
"""Fewest machines with which one of them is tested as the odd one."""
_ALPHA = 0.05


class Disagreement(Struct, frozen=True, kw_only=True):
    """One comparison on one cell, over the machines that made its visits."""

    cell: str
    a: str
    b: str
    ratios: dict[str, float]
    """Geometric mean of page load time b / a, by machine."""
    p: float
    """Probability that the machines differ only by chance (analysis of variance of log ratios),
    adjusted for the number of comparisons (Holm)."""


class OddMachine(Struct, frozen=True, kw_only=True):
    """A machine that treats a stack differently from the other machines, over all cells."""

    machine: str
    a: str
    b: str
    factor: float
    """The machine's ratio b / a, divided by the ratio of the other machines."""
    p: float
    """Probability of such a factor by chance, adjusted for all machines and comparisons."""


class Machines(Struct, frozen=True, kw_only=True):
    visits: dict[str, int]
    """Number of visits by machine, including those of invalid attempts."""
    tested: tuple[Disagreement, ...]
    """Every comparison with the first stack for which two machines have enough blocks."""
    odd: tuple[OddMachine, ...] = ()
    """Machines whose difference chance does not explain (5 %), the largest first."""


def machines(study: Study, table: pl.LazyFrame) -> Machines | None:
    """Test whether machines agree; None if one machine made the study, or if the machines are
    unknown. `table` is visits.parquet."""
    if "machine" not in table.collect_schema().names():
        return None
    named = table.filter(pl.col("machine") != "").group_by("machine").len().sort("machine")
    visits = dict(named.collect().iter_rows())
    if len(visits) < 2:
        return None
    made = table.group_by("block", "attempt").agg(pl.col("machine").first()).collect()
    by = {(block, attempt): machine for block, attempt, machine in made.iter_rows()}
    logs = [_logs(study, cell, by) for cell in observed(study, table)]
    found = [one for cell in logs for one in _of_cell(cell)]
    adjusted = holm([one.p for one in found])
    return Machines(
        visits=visits,
        tested=tuple(
            Disagreement(cell=one.cell, a=one.a, b=one.b, ratios=one.ratios, p=p)
            for one, p in zip(found, adjusted, strict=True)
        ),
        odd=tuple(_odd(study, logs)),
    )


class _Logs(Struct, frozen=True):
    """Logarithms of a cell's ratios, by stack and machine."""

    cell: str
    first: str
    by_stack: dict[str, dict[str, list[float]]]


def _logs(study: Study, cell: Observed, by: Mapping[tuple[str, int], str]) -> _Logs:
    first, *others = (s.name for s in study.stacks)
    found: dict[str, dict[str, list[float]]] = {}
    if cell.counted:
        rows = cell.stacks[first]
        where = [by[key] for key in zip(rows["block"], rows["attempt"], strict=True)]
        for other in others:
            logs = np.log(cell.of(other, "plt_ms").values / cell.of(first, "plt_ms").values)
            groups: dict[str, list[float]] = defaultdict(list)
            for machine, value in zip(where, logs, strict=True):
                if machine and np.isfinite(value):
                    groups[machine].append(float(value))
            found[other] = dict(groups)
    return _Logs(cell.name, first, found)


def _of_cell(logs: _Logs) -> Iterator[Disagreement]:
    from scipy.stats import f_oneway  # slow to import

    for other, every in logs.by_stack.items():
        groups = {machine: own for machine, own in every.items() if len(own) >= _LEAST}
        if len(groups) < 2:
            continue
        p = float(f_oneway(*groups.values()).pvalue)
        yield Disagreement(
            cell=logs.cell,
            a=logs.first,
            b=other,
            ratios={machine: float(np.exp(np.mean(own))) for machine, own in groups.items()},
            p=1.0 if np.isnan(p) else p,
        )


def _odd(study: Study, cells: Sequence[_Logs]) -> Iterator[OddMachine]:
    """Yield the odd machines. The test subtracts the cell's median from each ratio's logarithm, so
    that ratios of different cells are comparable."""
    first, *others = (s.name for s in study.stacks)
    found: list[OddMachine] = []
    for other in others:
        groups: dict[str, list[float]] = defaultdict(list)
        for cell in cells:
            own = cell.by_stack.get(other, {})
            if own:
                middle = float(np.median([v for values in own.values() for v in values]))
                for machine, values in own.items():
                    groups[machine] += [v - middle for v in values]
        if len(groups) < _FEW:
            continue
        for one in odd_ones(groups):
            p = min(1.0, one.p * len(others))
            found.append(
                OddMachine(
                    machine=one.group, a=first, b=other, factor=float(np.exp(one.shift)), p=p
                )
            )
    yield from sorted((one for one in found if one.p < _ALPHA), key=lambda one: one.p)
