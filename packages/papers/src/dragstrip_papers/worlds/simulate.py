"""Simulates how often a claim would be answered, and how, in a made-up world.

A given number of loads is drawn around the levels of `dragstrip_papers.worlds.made`, and the claim
is answered as if they had been measured.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from math import ceil
from typing import Literal

import numpy as np
import polars as pl
from msgspec import Struct
from numpy.typing import NDArray

from dragstrip.study.spec import StudySpec
from dragstrip_papers.base import ask
from dragstrip_papers.campaign.space import space
from dragstrip_papers.evidence import FACTORS, nothing
from dragstrip_papers.measured import Evidence, Loads, Measured
from dragstrip_papers.predicates import AnyPredicate, stacks_of
from dragstrip_papers.reached import looks_at
from dragstrip_papers.worlds.made import Levels, Place, World, build

Shape = Literal["plain", "wild"]
"""Distribution of the noise. `plain` is lognormal. With `wild`, one load in ten is later by five
standard deviations of the others. Both have the same coefficient of variation."""

STEADY, LOSSY = 0.02, 0.1
"""Coefficients of variation without and with random loss."""

OPEN = ("open", "not testable")


class Tally(Struct, frozen=True):
    """Number of answers of each kind in a world."""

    world: World
    shape: Shape
    loads: int
    answers: Mapping[str, int]

    @property
    def made(self) -> int:
        return sum(self.answers.values())

    def share(self, *verdicts: str) -> float:
        return sum(self.answers.get(v, 0) for v in verdicts) / self.made

    @property
    def right(self) -> float:
        """Share of right answers; it has no meaning if the claim lies on its edge."""
        return self.share("reproduced" if self.world.state == "true" else "contradicted")

    @property
    def wrong(self) -> float:
        """Share of wrong answers. On the edge itself, the more frequent of both answers counts."""
        reproduced, contradicted = self.share("reproduced"), self.share("contradicted")
        match self.world.state:
            case "true":
                return self.share("contradicted", "equivalent")
            case "inside":
                return contradicted
            case "false":
                return self.share("reproduced", "equivalent")
            case _:
                return reproduced if self.world.counted else max(reproduced, contradicted)


def places(specs: Sequence[StudySpec], parts: Mapping[str, str] | None = None) -> list[Place]:
    """Return every cell of a paper's studies."""
    return [
        Place(
            study=row["study"],
            page=row["page"],
            network=row["network"],
            connection=row["connection"],
            factors={f: row[f] for f in FACTORS if row[f] is not None},
            stacks=tuple(row["stacks"]),
        )
        for row in space(specs, parts).iter_rows(named=True)
    ]


def spread(place: Place) -> float:
    return LOSSY if place.factors.get("loss", 0) > 0 else STEADY


def simulate(
    predicate: AnyPredicate,
    world: World,
    where: Sequence[Place],
    loads: int,
    times: int,
    *,
    shape: Shape = "plain",
    seed: int = 18,
    cv: Callable[[Place], float] = spread,
) -> Tally:
    """Answer the claim `times` times, each time from new random loads. `where` are the paper's
    cells."""
    asked = _Asked(predicate, [place for place in where if looks_at(predicate, place.field)])
    draw = np.random.default_rng([seed, loads, len(world.words())])
    found: Counter[str] = Counter()
    for _ in range(times):
        levels = Levels(asked.places, draw, loads, asked.chosen)
        levels.cv, levels.q70 = cv, lambda place: _q70(cv(place), shape, loads)
        build(predicate, world, levels)
        found[ask(predicate, asked.drawn(levels, loads, shape)).verdict] += 1
    return Tally(world, shape, loads, dict(found))


class _Asked:
    """A predicate with the stacks, metrics and cells that it needs, the same in every
    simulation."""

    def __init__(self, predicate: AnyPredicate, places: Sequence[Place]) -> None:
        self.places = places
        self.chosen: dict[object, list[Place]] = {}
        self._metrics = sorted(set(_metrics(predicate)))
        self._means = "mean" in _statistics(predicate)
        named = {stacks: tuple(stacks_of(predicate, stacks)) for stacks in _stacks(places)}
        self._stacks = [named[place.stacks] for place in places]

    def drawn(self, levels: Levels, loads: int, shape: Shape) -> Evidence:
        """Draw loads of the stacks and metrics that the predicate needs. The metrics of one visit
        vary together."""
        rows = np.repeat([levels.cv(place) for place in self.places], list(map(len, self._stacks)))
        noise = iter(_noise(levels.draw, rows, loads, shape, means=self._means))
        rounds, censored = np.arange(loads), np.zeros(loads, dtype=bool)
        cells = []
        for place, stacks in zip(self.places, self._stacks, strict=True):
            own = {f: v for (page, f), v in levels.factors.items() if page == place.page}
            made = {}
            for stack in stacks:
                load = next(noise)
                values = {m: levels.at(place, stack, m) * load for m in self._metrics}
                made[stack] = Loads(rounds=rounds, values=values, censored=censored)
            cells.append(
                Measured(
                    study=place.study,
                    page=place.page,
                    network=place.network,
                    connection=place.connection,
                    factors={**place.factors, **own} if own else place.factors,
                    standin=False,
                    stacks=made,
                )
            )
        audit = None
        if levels.impossible is not None:
            audit = pl.DataFrame({"impossible": [i < levels.impossible for i in range(64)]})
        return Evidence(nothing(), audit, made=tuple(cells))


def _stacks(places: Sequence[Place]) -> set[tuple[str, ...]]:
    return {place.stacks for place in places}


OUTLIERS, LATER = 0.1, 5.0
_WILD_SD = float((1 + OUTLIERS * (1 - OUTLIERS) * LATER**2) ** 0.5)


def _noise(
    draw: np.random.Generator, cvs: NDArray[np.float64], loads: int, shape: Shape, *, means: bool
) -> NDArray[np.float64]:
    """Return a row for each coefficient of variation, with factors whose mean (with `means`) or
    median is 1. So the claim's number lies where the world says."""
    z = draw.standard_normal((len(cvs), loads))
    if shape == "wild":
        z = (z + LATER * (draw.random(z.shape) < OUTLIERS)) / _WILD_SD
    centres = [_centre(cv, shape, "mean" if means else "median") for cv in cvs.tolist()]
    return np.asarray(np.exp(cvs[:, None] * z) / np.array(centres)[:, None])


@cache
def _centre(cv: float, shape: Shape, what: Literal["mean", "median"]) -> float:
    return float((np.mean if what == "mean" else np.median)(_many(cv, shape)))


@cache
def _q70(cv: float, shape: Shape, loads: int) -> float:
    """Return the time, as a multiple of the mean, below which 70 % of `loads` loads lie half of the
    time."""
    many = _many(cv, shape)
    share = (ceil(0.7 * loads) - 1 / 3) / (loads + 1 / 3)  # the binomial's median
    return float(np.quantile(many, share) / many.mean())


def _many(cv: float, shape: Shape) -> NDArray[np.float64]:
    """Return the noise itself without random draws: quantiles of both kinds of loads in their
    proportion."""
    from scipy.special import ndtri

    even = ndtri((np.arange(20_000) + 0.5) / 20_000)
    if shape == "plain":
        return np.asarray(np.exp(cv * even))
    count = int(20_000 * OUTLIERS / (1 - OUTLIERS))
    late = ndtri((np.arange(count) + 0.5) / count) + LATER
    return np.asarray(np.exp(cv * np.concatenate([even, late]) / _WILD_SD))


def _statistics(predicate: AnyPredicate) -> Iterator[str]:
    if parts := getattr(predicate, "parts", None):
        for part in parts:
            yield from _statistics(part)
        return
    yield "mean" if predicate.population == "pages" else predicate.statistic


def _metrics(predicate: AnyPredicate) -> Iterator[str]:
    if parts := getattr(predicate, "parts", None):
        for part in parts:
            yield from _metrics(part)
        return
    yield predicate.metric
    yield from getattr(predicate, "metrics", ())
    yield from (term.metric for term in getattr(predicate, "terms", ()))
