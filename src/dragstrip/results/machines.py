"""Do machines disagree?

A machine's speed is in both visits of a pair, so it cancels in their ratio. What does not cancel is
a machine that treats one stack otherwise than another machine does.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping

import numpy as np
import polars as pl
from msgspec import Struct

from dragstrip.model.study import Study
from dragstrip.results.observed import Observed, observed
from dragstrip.stats.holm import holm

_LEAST = 2
"""Blocks that each of two machines needs on a cell."""


class Disagreement(Struct, frozen=True, kw_only=True):
    """One comparison on one cell, over the machines that made it."""

    cell: str
    a: str
    b: str
    ratios: dict[str, float]
    """Geometric mean of page load time b / a, by machine."""
    p: float
    """That they differ only by chance (analysis of variance of log ratios), adjusted for the number
    of comparisons (Holm)."""


class Machines(Struct, frozen=True, kw_only=True):
    visits: dict[str, int]
    """By machine, those of invalid attempts included."""
    tested: tuple[Disagreement, ...]
    """Every comparison with the first stack that two machines made often enough."""


def machines(study: Study, table: pl.LazyFrame) -> Machines | None:
    """None if a single machine made the study, or nobody knows. `table` is visits.parquet."""
    if "machine" not in table.collect_schema().names():
        return None
    named = table.filter(pl.col("machine") != "").group_by("machine").len().sort("machine")
    visits = dict(named.collect().iter_rows())
    if len(visits) < 2:
        return None
    made = table.group_by("block", "attempt").agg(pl.col("machine").first()).collect()
    by = {(block, attempt): machine for block, attempt, machine in made.iter_rows()}
    found = [one for cell in observed(study, table) for one in _of_cell(study, cell, by)]
    adjusted = holm([one.p for one in found])
    return Machines(
        visits=visits,
        tested=tuple(
            Disagreement(cell=one.cell, a=one.a, b=one.b, ratios=one.ratios, p=p)
            for one, p in zip(found, adjusted, strict=True)
        ),
    )


def _of_cell(
    study: Study, cell: Observed, by: Mapping[tuple[str, int], str]
) -> Iterator[Disagreement]:
    from scipy.stats import f_oneway  # slow to import

    if not cell.counted:
        return
    first, *others = (s.name for s in study.stacks)
    rows = cell.stacks[first]
    where = [by[key] for key in zip(rows["block"], rows["attempt"], strict=True)]
    for other in others:
        logs = np.log(cell.of(other, "plt_ms").values / cell.of(first, "plt_ms").values)
        groups: dict[str, list[float]] = defaultdict(list)
        for machine, value in zip(where, logs, strict=True):
            if machine and np.isfinite(value):
                groups[machine].append(float(value))
        groups = {machine: own for machine, own in groups.items() if len(own) >= _LEAST}
        if len(groups) < 2:
            continue
        p = float(f_oneway(*groups.values()).pvalue)
        yield Disagreement(
            cell=cell.name,
            a=first,
            b=other,
            ratios={machine: float(np.exp(np.mean(own))) for machine, own in groups.items()},
            p=1.0 if np.isnan(p) else p,
        )
