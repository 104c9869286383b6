"""Compares two capsules: every stack and cell that they share, B against A.

Cells and stacks are matched by name, because the things behind a name (a new server, a new build of
the page) are what the comparison is about. Its `notes` name things that differ under equal names,
and facts that weaken the comparison.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal, Protocol

import numpy as np
from msgspec import Struct, structs

from dragstrip.model.errors import InputError
from dragstrip.model.visit import Visit
from dragstrip.results.bounds import Bound, FilledRatio, filled, in_doubt, invalid_visits
from dragstrip.results.capsule import Capsule
from dragstrip.results.compare.notes import notes
from dragstrip.results.observed import BY_NAME, Observed, observed, stayed_invalid
from dragstrip.results.tables.build import frames
from dragstrip.stats.block_ratio import FAILED, BlockRatio, block_ratio
from dragstrip.stats.majority import Majority
from dragstrip.stats.spread import STATISTICS, Statistic, quantile_ratio
from dragstrip.visit.objects import of_an_object


class RatioEstimate(Protocol):
    """The methods that an estimate of b / a has; see `dragstrip.stats.block_ratio`."""

    @property
    def value(self) -> float: ...
    def interval(self, level: float = 0.95) -> tuple[float, float] | None: ...
    def p_above(self, ratio: float) -> float: ...
    def p_below(self, ratio: float) -> float: ...


class CapsuleDifference(Struct, frozen=True, kw_only=True):
    """The difference of one stack in one metric on one cell. `ratio` is None without blocks that
    count."""

    cell: str
    """Page and network (and connection, if the study has several), as in block ids."""
    stack: str
    metric: str
    ratio: float | None
    """B / A: above 1, B is slower. Infinite if most loads of B failed."""
    low: float | None
    high: float | None
    """Upper end of the 95 % confidence interval of `ratio`; None with too few loads."""
    ends: tuple[float, float] | None = None
    """The smallest and the largest ratio of a pair, if the estimator is `majority`."""
    pairing: Literal["paired", "unpaired"]
    """How loads are paired: by the seed of the block's link, or else in the order the blocks were
    made."""
    estimator: Literal["ranks", "majority", "quantiles"] = "ranks"
    """`ranks` is the interval of order statistics. `quantiles` is for statistics of spread.
    `majority` is like `ranks`, but more than half of the pairs decide conditions, see
    `dragstrip.stats.majority`."""
    statistic: Literal["median", "p95", "iqr"] = "median"
    """The statistic compared: the median over blocks, or a measure of spread, see
    `dragstrip.stats.spread`."""
    n_a: int
    n_b: int
    """Number of B's loads that were used; `n_a` is that of A."""
    censored_a: int
    censored_b: int
    bound: Bound | None = None
    """Bounds of the ratio for the missing visits, if invalid visits affect stacks unequally or
    affect many visits of this stack. Then the bounds decide, not the interval."""


class Compared(Struct, frozen=True):
    """A difference with the estimate behind it, from which gates compute p values."""

    difference: CapsuleDifference
    estimate: RatioEstimate | Majority | FilledRatio | None


class CapsuleComparison(Struct, frozen=True):
    notes: list[str]
    rows: list[Compared]
    stayed_invalid: bool
    """Whether more blocks of either capsule stayed invalid than `dragstrip.results.observed`
    allows."""


class _Load(Struct, frozen=True):
    value: float
    censored: bool


StackPair = tuple[str, str]
"""Names of a stack of A and of the stack of B with which it is compared."""


def compare_capsules(
    a: Capsule,
    b: Capsule,
    spread_of: Collection[str] = (),
    *,
    across_clocks: bool = False,
    across_clients: bool = False,
    pairs: Sequence[StackPair] = (),
) -> CapsuleComparison:
    """Compare each pair of stacks in every metric. For metrics in `spread_of`, compare the spread
    as well. Without `pairs`, compare every stack that both capsules have. Metrics of single objects
    are compared only if `spread_of` has them.

    Raises `InputError` if the capsules share no stack on any cell, or lack a stack of a pair.
    Raises it too if only one capsule was made in virtual time, unless `across_clocks`, or only one
    by the load generator, unless `across_clients`.
    """
    for capsule, wanted in ((a, [one for one, _ in pairs]), (b, [other for _, other in pairs])):
        if missing := [name for name in wanted if name not in _stacks(capsule)]:
            raise InputError(
                f"{capsule.path} has no stack {missing[0]!r}; it has {', '.join(_stacks(capsule))}"
            )
    both = pairs or [(name, name) for name in _stacks(a) if name in _stacks(b)]
    clocks = [capsule.manifest.study.clock for capsule in (a, b)]
    if clocks[0] != clocks[1] and not across_clocks:
        said = " and ".join(f"{c.path} in {k.short}" for c, k in zip((a, b), clocks, strict=True))
        raise InputError(f"{said} cannot be compared; --across-clocks does it anyway")
    predicted = [c.manifest.study.predicted for c in (a, b)]
    if predicted[0] != predicted[1] and not across_clients:
        ours, other = (a, b) if predicted[0] else (b, a)
        raise InputError(
            f"{ours.path} was made by the load generator and {other.path} by a browser; "
            "--across-clients compares them anyway"
        )
    visits_a, visits_b = list(a.visits()), list(b.visits())
    names = tuple(name for name in spread_of if of_an_object(name))
    of_a, of_b = _cells(a, visits_a, names), _cells(b, visits_b, names)
    exact = _exact(a) & _exact(b)
    rows = [
        row
        for cell in of_a
        if cell in of_b
        for stack in both
        for metric in (*BY_NAME, *names)
        for row in (
            _compare(of_a[cell], of_b[cell], stack, metric, exact),
            *(
                _spread(of_a[cell], of_b[cell], stack, metric, statistic)
                for statistic in (STATISTICS if metric in spread_of else ())
            ),
        )
    ]
    if not rows:
        raise InputError(
            f"{a.path} and {b.path} share no stack on the same page and network; give two capsules "
            "with the same names of pages, networks and stacks"
        )
    # A metric that no visit reports gets no row, for example a paint on a page that paints nothing.
    rows = [r for r in rows if r.estimate or r.difference.n_a or r.difference.metric == "plt_ms"]
    spoiled = any(stayed_invalid(cells.values()) for cells in (of_a, of_b))
    return CapsuleComparison(notes(a, b, visits_a, visits_b, both), rows, spoiled)


def _stacks(capsule: Capsule) -> list[str]:
    return [s.name for s in capsule.manifest.study.stacks]


def _cells(
    capsule: Capsule, visits: Sequence[Visit], objects: tuple[str, ...]
) -> dict[str, Observed]:
    """Return the cells by name, without cells that have no visit. `objects` are metrics of single
    objects."""
    study = structs.replace(capsule.manifest.study, metrics=objects)
    table = frames(visits, study)["visits"].with_row_index("row").lazy()
    return {cell.name: cell for cell in observed(study, table) if cell.begun}


class _Sides(Struct, frozen=True):
    """One metric of a stack on a cell, in A and in B."""

    cell: Observed
    stack: StackPair
    metric: str
    a: list[_Load]
    b: list[_Load]
    paired: bool

    @property
    def ended(self) -> bool:
        return not any(load.censored for load in (*self.a, *self.b))

    def times(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        return tuple(load.value for load in self.a), tuple(load.value for load in self.b)

    def equally_many(self) -> "_Sides":
        both = min(len(self.a), len(self.b))
        return structs.replace(self, a=self.a[:both], b=self.b[:both])

    def difference(self, found: RatioEstimate | None, **more: Any) -> CapsuleDifference:
        """Make the difference that the estimate shows; `more` has additional fields."""
        low, high = (found.interval() if found else None) or (None, None)
        return CapsuleDifference(
            cell=self.cell.name,
            stack=_label(self.stack),
            metric=self.metric,
            ratio=found.value if found else None,
            low=low,
            high=high,
            pairing="paired" if self.paired else "unpaired",
            n_a=len(self.a),
            n_b=len(self.b),
            censored_a=sum(load.censored for load in self.a),
            censored_b=sum(load.censored for load in self.b),
            **more,
        )


def _sides(in_a: Observed, in_b: Observed, stack: StackPair, metric: str) -> _Sides:
    seen_a, seen_b = _by_seed(in_a, stack[0], metric), _by_seed(in_b, stack[1], metric)
    shared = [seed for seed in seen_a if seed in seen_b]
    if len(shared) > 1:
        a, b = [seen_a[seed] for seed in shared], [seen_b[seed] for seed in shared]
        return _Sides(in_a, stack, metric, a, b, paired=True)
    return _Sides(in_a, stack, metric, [*seen_a.values()], [*seen_b.values()], paired=False)


def _spread(
    in_a: Observed, in_b: Observed, stack: StackPair, metric: str, statistic: Statistic
) -> Compared:
    """Compare a statistic of spread. Loads that failed or timed out count as the time limit."""
    sides = _sides(in_a, in_b, stack, metric)
    times_a, times_b = ([load.value for load in side] for side in (sides.a, sides.b))
    found = quantile_ratio(times_a, times_b, statistic, paired=sides.paired)
    return Compared(
        sides.difference(found, estimator="quantiles", statistic=statistic),
        found,
    )


def _exact(capsule: Capsule) -> set[str]:
    """Return the names of the networks on which a load with the same seed is always the same: in
    virtual time, without randomness in the network."""
    study = capsule.manifest.study
    if not study.clock.virtual or not all(s.loaded_by.steady for s in study.visited):
        return set()
    return {n.name for n in study.networks if not n.chance}


def _compare(
    in_a: Observed, in_b: Observed, stack: StackPair, metric: str, exact: Collection[str]
) -> Compared:
    sides = _sides(in_a, in_b, stack, metric).equally_many()
    found = _estimate(sides.a, sides.b) if sides.a else None
    full = _filled(found, in_a, in_b, stack) if found else None
    exactly = not full and sides.ended and in_a.network in exact and not _painted(metric)
    votes = Majority(found, sides.times()) if found and exactly else None
    difference = sides.difference(
        found,
        bound=full.bound() if full else None,
        estimator="majority" if votes else "ranks",
        ends=votes.ends if votes else None,
    )
    return Compared(difference, full or votes or found)


def _painted(metric: str) -> bool:
    return metric in BY_NAME and BY_NAME[metric].painted


def _label(pair: StackPair) -> str:
    a, b = pair
    return b if a == b else f"{b} against {a}"


def _filled(
    found: BlockRatio, in_a: Observed, in_b: Observed, stack: StackPair
) -> FilledRatio | None:
    """Return the estimate with the invalid visits of both sides filled in; None if invalid visits
    do not cast doubt on it."""
    of_a, of_b = stack
    if not in_doubt(in_a, of_a) and not in_doubt(in_b, of_b):
        return None
    return filled(found.logs, invalid_visits(in_a, of_a) + invalid_visits(in_b, of_b))


def _by_seed(cell: Observed, stack: str, metric: str) -> Mapping[int, _Load]:
    """Return the loads by their block's link seed. Loads with equal seeds had equal losses."""
    found = cell.of(stack, metric)
    seen = zip(cell.seeds(), found.values.tolist(), found.censored.tolist(), strict=True)
    return {seed: _Load(v, censored) for seed, v, censored in seen if not np.isnan(v)}


def _estimate(a: Sequence[_Load], b: Sequence[_Load]) -> BlockRatio | None:
    """Estimate the ratio of two sides. None if a value is not above zero, or if no load of either
    side ended."""
    every = (*a, *b)
    if min(load.value for load in every) <= 0 or all(load.censored for load in every):
        return None
    return block_ratio(*([FAILED if o.censored else o.value for o in s] for s in (a, b)))
