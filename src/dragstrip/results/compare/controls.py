"""Evaluates a study's controls: how large a difference they show where none exists, and whether
they show a known difference."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from msgspec import Struct, structs
from numpy.typing import NDArray

from dragstrip.model.stack import Stack
from dragstrip.model.study import CellKey, Study
from dragstrip.results.blocks import BLOCK_METRICS
from dragstrip.results.observed import Observed, observed
from dragstrip.stats.block_ratio import block_ratio
from dragstrip.stats.control import FalseAlarms, false_alarms, noise_floor
from dragstrip.stats.power import detectable

ALPHA = 0.05
POWER = 0.8


class Control(Struct, frozen=True, kw_only=True):
    """The result of the controls in one metric. Each cell with at least two blocks is a
    comparison."""

    metric: str
    alarms: tuple[FalseAlarms, ...] = ()
    """False alarms: A/A differences found at the 5 % and the 1 % level."""
    blocks: int = 0
    """Number of pairs of equal visits, over all cells."""
    floor: float | None = None
    """Fraction below which the A/A difference of 95 % of single blocks stays."""
    least: float | None = None
    """Smallest difference, as a fraction, that a cell detects with 80 % power at the 5 % level, by
    the spread of its A/A ratios. This is the median over cells."""
    held: int = 0
    """Number of comparisons with the positive control, on networks with a round trip."""
    found: int = 0
    """Number of comparisons with the positive control in which it is shown to be slower, at the 5 %
    level."""
    effect_rtts: float | None = None
    """Round trips by which the positive control was slower, as the median over blocks."""


Pairs = tuple[NDArray[np.float64], NDArray[np.float64]]
"""The metric of the first stack and of a control, block by block."""


def controls(study: Study, table: pl.LazyFrame) -> list[Control]:
    """Return one record per metric; none for a study without controls.

    `table` is the table that `dragstrip.results.observed.observed` takes.
    """
    if not study.controls:
        return []
    first = study.stacks[0]
    names = [first.name, *(s.name for s in study.controls)]
    pairs: dict[tuple[str, str], dict[CellKey, Pairs]] = {}
    blocks: dict[CellKey, int] = {}
    for seen in observed(study, table, names):
        cell = seen.page, seen.network, seen.connection
        blocks[cell] = seen.begun - seen.spoiled
        for metric in BLOCK_METRICS:
            for stack in study.controls:
                found = _pairs(seen, metric, first.name, stack.name)
                pairs.setdefault((metric, stack.name), {})[cell] = found
    return [
        _control(study, metric, [(s, pairs[metric, s.name]) for s in study.controls], blocks)
        for metric in BLOCK_METRICS
    ]


def _pairs(seen: Observed, metric: str, first: str, other: str) -> Pairs:
    a, b = seen.of(first, metric).values, seen.of(other, metric).values
    both = ~(np.isnan(a) | np.isnan(b))
    return a[both], b[both]


def _control(
    study: Study,
    metric: str,
    by_stack: Sequence[tuple[Stack, Mapping[CellKey, Pairs]]],
    blocks: Mapping[CellKey, int],
) -> Control:
    """Evaluate the controls in one metric. `blocks` is the number of blocks of each cell that
    count, with controls or without."""
    result = Control(metric=metric)
    rtts = {n.name: n.rtt_ms for n in study.networks if n.rtt_ms}
    for stack, by_cell in by_stack:
        if stack.hold_rtts:
            result = _held(result, {c: v for c, v in by_cell.items() if c[1] in rtts}, rtts)
        else:
            result = _same(result, by_cell, blocks)
    return result


def _same(
    result: Control, by_cell: Mapping[CellKey, Pairs], blocks: Mapping[CellKey, int]
) -> Control:
    ratios = [float(ratio) for a, b in by_cell.values() for ratio in b / a]
    least = sorted(
        math.exp(found * spread) - 1
        for cell, (a, b) in by_cell.items()
        if len(a) > 1
        and (found := detectable(blocks[cell], alpha=ALPHA, power=POWER))
        and (spread := float(np.std(np.log(b / a), ddof=1)))
    )
    alarms = (_alarms(list(by_cell.values()), alpha) for alpha in (0.05, 0.01))
    return structs.replace(
        result,
        blocks=len(ratios),
        alarms=tuple(found for found in alarms if found),
        floor=noise_floor(ratios) if ratios else None,
        least=least[len(least) // 2] if least else None,
    )


def _alarms(by_cell: Sequence[Pairs], alpha: float) -> FalseAlarms | None:
    """Return the false alarms of the intervals at 1 - `alpha`; None if no cell has an interval."""
    found = [_shown(a, b, alpha) for a, b in by_cell]
    held = [shown != 0 for shown in found if shown is not None]
    return false_alarms(held, alpha) if held else None


def _shown(a: NDArray[np.float64], b: NDArray[np.float64], alpha: float) -> int | None:
    """Return 1 if b is shown to be above a, -1 if below, 0 if neither; None with too few blocks."""
    interval = block_ratio(a, b).interval(1 - alpha) if len(a) else None
    return interval and (interval[0] > 1) - (interval[1] < 1)


def _held(result: Control, by_cell: Mapping[CellKey, Pairs], rtts: Mapping[str, float]) -> Control:
    tested = [s for a, b in by_cell.values() if (s := _shown(a, b, ALPHA)) is not None]
    effects = sorted(float(e) for cell, (a, b) in by_cell.items() for e in (b - a) / rtts[cell[1]])
    return structs.replace(
        result,
        held=len(tested),
        found=tested.count(1),
        effect_rtts=effects[len(effects) // 2] if effects else None,
    )
