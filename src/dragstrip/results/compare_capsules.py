"""Two capsules side by side: every stack they share, on every cell they share, B against A.

A cell is a page on a network; cells and stacks are matched by name, because what lies behind a name
(a new server, a new build of the page) is what a comparison of capsules is about. `notes` say where
names agree and what they stand for does not, and what weakens the comparison.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, Protocol

from msgspec import Struct

from dragstrip.model.errors import InputError
from dragstrip.model.visit import Visit
from dragstrip.results.blocks import METRICS, Metric, Observation, Trial, observe, trials
from dragstrip.results.capsule import Capsule
from dragstrip.results.compare_notes import notes
from dragstrip.stats.paired import paired
from dragstrip.stats.ranked import FAILED, paired_ranks, unpaired_ranks
from dragstrip.stats.unpaired import unpaired


class Estimate(Protocol):
    """What an estimator of b / a can say; see `dragstrip.stats.log_ratio`."""

    @property
    def value(self) -> float: ...
    def interval(self, level: float = 0.95) -> tuple[float, float] | None: ...
    def p_above(self, ratio: float) -> float: ...
    def p_below(self, ratio: float) -> float: ...


class Difference(Struct, frozen=True, kw_only=True):
    """One stack in one metric on one cell. Without blocks that count, `ratio` is None."""

    cell: str
    """Page and network (and connection, if the study has several), as in block ids."""
    stack: str
    metric: Metric
    ratio: float | None
    """B / A: above 1, B is slower. Infinite if most loads of B failed."""
    low: float | None
    high: float | None
    """95 % confidence interval of `ratio`."""
    pairing: Literal["paired", "unpaired"]
    """By block, or as two independent samples."""
    estimator: Literal["log-ratio", "ranks"]
    """`ranks` as soon as one load failed or timed out."""
    n_a: int
    n_b: int
    """Loads that entered; pairs have as many of each."""
    censored_a: int
    censored_b: int


class Compared(Struct, frozen=True):
    """A difference with the estimate it was read from, for gates to ask further."""

    difference: Difference
    estimate: Estimate | None


class Comparison(Struct, frozen=True):
    notes: list[str]
    rows: list[Compared]


def compare_capsules(a: Capsule, b: Capsule) -> Comparison:
    """Raises `InputError` if the capsules share no stack on any cell."""
    visits_a, visits_b = list(a.visits()), list(b.visits())
    of_a, of_b = _cells(a, visits_a), _cells(b, visits_b)
    limits = tuple(c.manifest.study.client.timeout_s * 1000 for c in (a, b))
    rows = [
        _compare(cell, stack, metric, of_a[cell], of_b[cell], (limits[0], limits[1]))
        for cell in of_a
        if cell in of_b
        for stack in _stacks(a)
        if stack in _stacks(b)
        for metric in METRICS
    ]
    if not rows:
        raise InputError(
            f"{a.path} and {b.path} share no stack on the same page and network; "
            "give two capsules whose names of pages, networks and stacks agree"
        )
    # A metric that no visit reports, as on a page that paints nothing, is no row of its own.
    rows = [r for r in rows if r.estimate or r.difference.metric == "plt_ms"]
    return Comparison(notes(a, b, visits_a, visits_b), rows)


def _stacks(capsule: Capsule) -> list[str]:
    return [s.name for s in capsule.manifest.study.stacks]


def _cells(capsule: Capsule, visits: Iterable[Visit]) -> dict[str, list[Trial]]:
    """The trials by cell; those that do not count are dropped, but their cell stays."""
    by_cell: dict[str, list[Trial]] = {}
    for trial in trials(visits, _stacks(capsule)):
        found = by_cell.setdefault(trial.block.rpartition("|")[0], [])
        if trial.counts:
            found.append(trial)
    return by_cell


def _compare(
    cell: str,
    stack: str,
    metric: Metric,
    of_a: Sequence[Trial],
    of_b: Sequence[Trial],
    limits: tuple[float, float],
) -> Compared:
    seen_a, seen_b = (
        _by_seed(of_a, stack, metric, limits[0]),
        _by_seed(of_b, stack, metric, limits[1]),
    )
    shared = [seed for seed in seen_a if seed in seen_b]
    if pairs := len(shared) > 1:
        a, b = [seen_a[s] for s in shared], [seen_b[s] for s in shared]
    else:
        a, b = list(seen_a.values()), list(seen_b.values())
    censored = any(o.censored for o in (*a, *b))
    estimate = _estimate(a, b, pairs=pairs, censored=censored) if a and b else None
    low, high = (estimate.interval() if estimate else None) or (None, None)
    return Compared(
        Difference(
            cell=cell,
            stack=stack,
            metric=metric,
            ratio=estimate.value if estimate else None,
            low=low,
            high=high,
            pairing="paired" if pairs else "unpaired",
            estimator="ranks" if censored else "log-ratio",
            n_a=len(a),
            n_b=len(b),
            censored_a=sum(o.censored for o in a),
            censored_b=sum(o.censored for o in b),
        ),
        estimate,
    )


def _by_seed(
    found: Sequence[Trial], stack: str, metric: Metric, limit_ms: float
) -> Mapping[int, Observation]:
    """Observations by the seed their block gave the link: equal seeds, equal luck."""
    seen = ((t.visits[stack], observe(t.visits[stack], metric, limit_ms)) for t in found)
    return {visit.seed: value for visit, value in seen if value is not None}


def _estimate(
    a: Sequence[Observation], b: Sequence[Observation], *, pairs: bool, censored: bool
) -> Estimate:
    if censored:
        ranks_a, ranks_b = ([FAILED if o.censored else o.value_ms for o in s] for s in (a, b))
        return paired_ranks(ranks_a, ranks_b) if pairs else unpaired_ranks(ranks_a, ranks_b)
    times_a, times_b = ([o.value_ms for o in s] for s in (a, b))
    return paired(times_a, times_b) if pairs else unpaired(times_a, times_b)
