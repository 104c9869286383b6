"""Makes up worlds in which a claim is true, is false, or lies on its edge.

For each kind of predicate, a function sets the levels of stacks on cells that make a claim true.
Levels are population medians in ms; noise is added later (`dragstrip_papers.worlds.simulate`). A
world is not the inverse of the predicate: it sets ratios, differences and times, however the
predicate evaluates the loads.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, singledispatch
from itertools import cycle
from math import ceil, floor, inf, log, sqrt
from typing import Literal

import numpy as np
from msgspec import Struct

from dragstrip_papers.cells import Where, fits
from dragstrip_papers.compare import (
    Correlation,
    Equal,
    MonotoneIn,
    Ordering,
    Ratio,
    RatioShift,
    SameRanking,
)
from dragstrip_papers.gains import AnovaCount, Gain, MagnitudeOrder, MeanDelta
from dragstrip_papers.levels import (
    Absolute,
    AuditCount,
    Corpus,
    Difference,
    ImpliedBytes,
    Sensitivity,
    SensitivityOrder,
)
from dragstrip_papers.predicates import All, AnyPredicate, Either
from dragstrip_papers.rtts import HandshakeRtts, OneRtt, OneRttTable
from dragstrip_papers.scenarios import Rule7010, ScenarioShare, Tree
from dragstrip_papers.shares import Extreme, FasterShare, ShareOrder
from dragstrip_papers.stats.rule7010 import EQUAL, FASTER

State = Literal["true", "inside", "edge", "false"]
Side = Literal["low", "high"]

BASE_MS = 2000.0
CLEAR = 1.25
"""A ratio that clearly shows a difference."""
PAGES_SPREAD = 0.05
"""Standard deviation of the pages' own effects, as a fraction, for claims about pages."""
FEW_PAGES = 2
"""Fewest pages beyond an edge for a clear case."""
UNSURE = 0.2
"""Share of the cells that could fall either way, for claims that count cells."""


class World(Struct, frozen=True):
    state: State
    side: Side = "high"
    alone: bool = False
    """Whether only the first part or cell of the claim has this state; for the others the claim is
    clearly true."""
    counted: bool = False
    """Whether cells are counted and no whole number lies on the edge. Then `edge` is just beyond
    the edge, and `inside` just within it."""

    def words(self) -> str:
        side = "" if self.state == "true" else f" {self.side}"
        return f"{self.state}{side}{', one alone' if self.alone else ''}"


class Place(Struct, frozen=True, kw_only=True, dict=True):
    """A cell to be filled with made-up loads."""

    study: str
    page: str
    network: str
    connection: str
    factors: Mapping[str, float]
    stacks: tuple[str, ...]

    def field(self, name: str) -> object:
        return getattr(self, name) if name not in self.factors else self.factors[name]

    @cached_property
    def key(self) -> tuple[str, str, str, str]:
        return self.study, self.page, self.network, self.connection


class Levels:
    """The values made up so far: levels in ms, and factors of pages that differ from the
    study's."""

    def __init__(
        self,
        places: Sequence[Place],
        draw: np.random.Generator,
        loads: int,
        chosen: dict[object, list[Place]] | None = None,
    ) -> None:
        """Begin a world. `chosen` stores what the method `chosen` found, for the next levels of the
        same places."""
        self.places = places
        self._chosen = {} if chosen is None else chosen
        self.draw = draw
        self.loads = loads
        self.cv: Callable[[Place], float] = lambda place: 0.02
        self.q70: Callable[[Place], float] = lambda place: 1.0
        """Returns the value below which 70 % of a cell's noise lies, as a share of its mean."""
        self.factors: dict[tuple[str, str], float] = {}
        self.impossible: int | None = None
        self._ms: dict[tuple[Place | tuple[str, ...], str, str], float] = {}
        self._set: set[tuple[tuple[str, ...], str, str]] = set()

    def at(self, place: Place, stack: str, metric: str) -> float:
        return self._ms.get((place.key, stack, metric), BASE_MS)

    def put(self, place: Place, stack: str, metric: str, ms: float) -> None:
        self._ms[place.key, stack, metric] = max(ms, 1e-3)
        self._set.add((place.key, stack, metric))

    def stands(self, place: Place, stack: str, metric: str) -> bool:
        return (place.key, stack, metric) in self._set

    def relate(
        self,
        place: Place,
        metric: str,
        a: str,
        b: str,
        there: Callable[[float], float],
        back: Callable[[float], float],
    ) -> None:
        """Set b to `there` of a. If b is set already, set a to `back` of b. If both are set, they
        stay."""
        if not self.stands(place, b, metric):
            self.put(place, a, metric, self.at(place, a, metric))
            self.put(place, b, metric, there(self.at(place, a, metric)))
        elif not self.stands(place, a, metric):
            self.put(place, a, metric, back(self.at(place, b, metric)))

    def ratio(self, place: Place, metric: str, a: str, b: str, ratio: float) -> None:
        self.relate(place, metric, a, b, lambda ms: ms * ratio, lambda ms: ms / ratio)

    def chosen(self, where: Where, unless: Where, stacks: Sequence[str]) -> list[Place]:
        key = repr((where, unless, stacks))
        if key not in self._chosen:
            self._chosen[key] = [
                p
                for p in self.places
                if fits(p.field, where)
                and not (unless and fits(p.field, unless))
                and {*stacks} <= {*p.stacks}
            ]
        return self._chosen[key]


def worlds(predicate: AnyPredicate) -> list[World]:
    """Return the worlds in which to test a predicate."""
    sides = _sides(predicate)
    edges = () if _certain(predicate) else sides
    counted = isinstance(predicate, FasterShare | ScenarioShare | Tree | AnovaCount)
    if isinstance(predicate, All):
        counted = all(isinstance(part, FasterShare | AnovaCount) for part in predicate.parts)
    found = [World("true"), *(World("edge", s, counted=counted) for s in edges)]
    found += [World("inside", s, counted=True) for s in edges if counted]
    found += [World("false", s) for s in sides]
    several = isinstance(predicate, All | Equal) or getattr(predicate, "each", False)
    if several:
        found += [World("edge", side, alone=True, counted=counted) for side in edges[:1]]
        found += [World("false", side, alone=True) for side in edges[:1]]
    return found


def _certain(predicate: AnyPredicate) -> bool:
    """Return whether no load affects the answer, so that a claim is certain even on its edge."""
    if isinstance(predicate, All | Either):
        return all(_certain(part) for part in predicate.parts)
    return isinstance(predicate, Corpus | AuditCount)


def _sides(predicate: AnyPredicate) -> list[Side]:
    if isinstance(predicate, All | Either):
        found = [side for part in predicate.parts for side in _sides(part)]
        return list(dict.fromkeys(found))
    low, high = _band(predicate)
    sides: list[Side] = []
    if low > -inf:
        sides.append("low")
    if high < inf:
        sides.append("high")
    return sides or ["high"]


def _band(predicate: AnyPredicate) -> tuple[float, float]:
    """Return the band that a predicate allows. For kinds of predicates without a band, both ends
    are infinite."""
    match predicate:
        case Ratio() | RatioShift() | ImpliedBytes() | Absolute() | Extreme() | Corpus():
            low = predicate.at_least if predicate.at_least > 0 else -inf
            return low, predicate.at_most
        case Gain() | MeanDelta() | Sensitivity() | Difference() | HandshakeRtts() | OneRtt():
            return predicate.at_least, predicate.at_most
        case FasterShare() | ScenarioShare():
            low = predicate.at_least if predicate.at_least > 0 else -inf
            return low, predicate.at_most if predicate.at_most < 1 else inf
        case Tree() | Correlation():
            return predicate.at_least, inf
        case Equal():
            return 1 / (1 + predicate.margin), 1 + predicate.margin
        case AuditCount():
            return predicate.at_least, predicate.at_most
        case AnovaCount():
            allowed = predicate.none if predicate.none.low else predicate.faster
            far = predicate.cells - allowed.high > FEW_PAGES
            return (allowed.low or -inf), (allowed.high if far or not allowed.low else inf)
        case _:
            return -inf, inf


def _target(band: tuple[float, float], world: World, *, ratio: bool, clear: float) -> float:
    """Return where the claim's number lies: inside the band, on an edge, or beyond it by `clear` (a
    factor if `ratio`)."""
    low, high = band
    edge = low if world.side == "low" else high
    if not np.isfinite(edge):
        edge = high if world.side == "low" else low
    outwards = 1 if edge == high else -1
    if world.state == "edge":
        return edge
    if world.state == "false":
        return edge * clear**outwards if ratio else edge + outwards * clear
    if np.isfinite(low) and np.isfinite(high):
        return sqrt(low * high) if ratio and low > 0 else (low + high) / 2
    return edge * clear**-outwards if ratio else edge - outwards * clear


def _states(places: Sequence[Place], world: World) -> list[tuple[Place, World]]:
    """Return each cell's own world."""
    true = World("true", world.side)
    return [(p, true if world.alone and i else world) for i, p in enumerate(places)]


@singledispatch
def build(predicate: AnyPredicate, world: World, levels: Levels) -> None:
    """Set the levels that put the claim into this world."""
    raise NotImplementedError(type(predicate).__name__)


@build.register
def _(predicate: All, world: World, levels: Levels) -> None:
    if ends := _range(predicate):
        _between(*ends, world, levels)
        return
    for i, part in enumerate(predicate.parts):
        build(part, World("true", world.side) if world.alone and i else world, levels)


def _range(predicate: All) -> tuple[Extreme, Extreme] | None:
    """Return the two parts that ask for the greatest and, upside down, for the least ratio of the
    same cells."""
    ends = [part for part in predicate.parts if isinstance(part, Extreme)]
    if len(ends) != 2 or len(predicate.parts) != 2:
        return None
    most, least = ends
    swapped = [most.a] == least.b and most.b == [least.a]
    return (most, least) if swapped and most.where == least.where else None


def _between(most: Extreme, least: Extreme, world: World, levels: Levels) -> None:
    """Give a tenth of the cells the greatest ratio, a tenth the least, and all others one
    between."""
    other = World("true", world.side) if world.alone else world
    high = _target(_band(most), world, ratio=True, clear=CLEAR)
    low = 1 / _target(_band(least), other, ratio=True, clear=CLEAR)
    places = levels.chosen(most.where, most.unless, [most.a, *most.b])
    few = max(3, round(0.1 * len(places)))
    for i, place in enumerate(places):
        ratio = high if i < few else low if i < 2 * few else sqrt(high * low)
        levels.ratio(place, most.metric, most.a, most.b[0], ratio)


@build.register
def _(predicate: Either, world: World, levels: Levels) -> None:
    """Make the first reading hold and the others not."""
    for i, part in enumerate(predicate.parts):
        other = World("false", world.side)
        build(part, world if i == 0 or world.state != "true" else other, levels)


@build.register
def _(predicate: Ratio, world: World, levels: Levels) -> None:
    p = predicate
    for place, own in _states(levels.chosen(p.where, p.unless, [p.a, p.b]), world):
        levels.ratio(place, p.metric, p.a, p.b, _target(_band(p), own, ratio=True, clear=CLEAR))


@build.register
def _(predicate: Equal, world: World, levels: Levels) -> None:
    p, (first, second, *others) = predicate, predicate.stacks
    for place, own in _states(levels.chosen(p.where, p.unless, p.stacks), world):
        ratio = _target(_band(p), own, ratio=True, clear=CLEAR)
        levels.ratio(place, p.metric, first, second, ratio)
        for other in others:
            levels.ratio(place, p.metric, first, other, 1.0)


@build.register
def _(predicate: Ordering, world: World, levels: Levels) -> None:
    """Set the levels. On the edge all groups are alike. If the claim is false, the last group is
    the fastest."""
    p = predicate
    stacks = [s for group in p.groups for s in group]
    step = {"true": CLEAR, "edge": 1.0, "false": 1 / CLEAR}[world.state]
    for metric in p.metrics or [p.metric]:
        for place in levels.chosen(p.where, p.unless, stacks):
            own = _own(levels) if p.population == "pages" else dict.fromkeys(stacks, 1.0)
            for rank, group in enumerate(p.groups):
                for stack in group:
                    levels.put(place, stack, metric, BASE_MS * step**rank * own.get(stack, 1.0))


def _own(levels: Levels) -> dict[str, float]:
    return _PageOwn(levels)


class _PageOwn(dict[str, float]):
    """The effects that a page has on each stack."""

    def __init__(self, levels: Levels) -> None:
        super().__init__()
        self._levels = levels

    def get(self, key: str, default: float = 1.0) -> float:  # type: ignore[override]
        if key not in self:
            self[key] = float(np.exp(self._levels.draw.normal(0, PAGES_SPREAD)))
        return self[key]


def _of_page(levels: Levels, p: AnyPredicate) -> float:
    """Return a page's own effect on the gain, for a claim about pages like these; otherwise 0."""
    return float(levels.draw.normal(0, PAGES_SPREAD)) if p.population == "pages" else 0.0


@build.register
def _(predicate: RatioShift, world: World, levels: Levels) -> None:
    p = predicate
    shift = _target(_band(p), world, ratio=True, clear=CLEAR)
    for side, ratio in ((p.here, 1.0), (p.there, shift)):
        for place in levels.chosen(p.where | side, p.unless, [p.a, p.b]):
            levels.ratio(place, p.metric, p.a, p.b, ratio)


@build.register
def _(predicate: MonotoneIn, world: World, levels: Levels) -> None:
    """Let ln(b / a) rise with the logarithm of the factor. On the edge it rises at the highest rate
    and falls at all others, so that over a grid of two rates it does neither."""
    p = predicate
    places = levels.chosen(p.where, p.unless, [p.a, p.b])
    most = max(place.factors.get("rate_mbps", 0.0) for place in places)
    for place in places:
        way = {"true": 1, "edge": 1 if place.factors.get("rate_mbps") == most else -1, "false": -1}
        level = place.factors[p.factor]
        along = log(level) if level > 0 and p.factor != "loss" else level * 100
        slope = way[world.state] * (0.05 if p.rising else -0.05)
        ratio = float(np.exp(slope * along))
        levels.put(place, p.b, p.metric, levels.at(place, p.b, p.metric) * ratio)


@build.register
def _(predicate: Correlation, world: World, levels: Levels) -> None:
    """Draw ln(b / a) of the pages on two networks from a normal distribution with this
    correlation."""
    p = predicate
    rank = {"true": 0.95, "edge": p.at_least, "false": 0.0}[world.state]
    r = 2 * np.sin(np.pi / 6 * rank)  # Pearson's correlation for Spearman's
    pages: dict[str, float] = {}
    for where in (p.where, *p.others):
        for place in levels.chosen(where, {}, [p.a, p.b]):
            mine = pages.setdefault(place.page, float(levels.draw.normal()))
            own = mine if where is p.where else r * mine + sqrt(1 - r**2) * levels.draw.normal()
            levels.ratio(place, p.metric, p.a, p.b, float(np.exp(0.3 * own)))


@build.register
def _(predicate: SameRanking, world: World, levels: Levels) -> None:
    p = predicate
    low, high = 1 / (1 + p.same), 1 + p.same
    there = {"true": 1 / CLEAR, "edge": high, "false": CLEAR}[world.state]
    here = low if world.state == "edge" else 1 / CLEAR
    for side, ratio in ((p.here, here), (p.there, there)):
        for place in levels.chosen(p.where | side, p.unless, p.stacks):
            for rank, (slow, quick) in enumerate(zip(p.stacks, p.stacks[1:], strict=False)):
                levels.ratio(place, p.metric, slow, quick, ratio if rank == 0 else 1 / CLEAR)


@build.register
def _(predicate: Gain, world: World, levels: Levels) -> None:
    p = predicate
    gain = _target(_band(p), world, ratio=False, clear=0.1)
    for place in levels.chosen(p.where, p.unless, [p.a, p.ref]):
        own = _of_page(levels, p)
        levels.ratio(place, p.metric, p.ref, p.a, 1 + gain + own)


@build.register
def _(predicate: MeanDelta, world: World, levels: Levels) -> None:
    p = predicate
    band = _band(p)
    usual = abs(_target(band, World("true"), ratio=False, clear=BASE_MS / 5))
    ms = _target(band, world, ratio=False, clear=usual)
    base = 5 * usual
    for place in levels.chosen(p.where, p.unless, [p.a, p.ref]):
        own = ms + _of_page(levels, p) * base
        if not levels.stands(place, p.a, p.metric):
            if not levels.stands(place, p.ref, p.metric):
                levels.put(place, p.ref, p.metric, base)
            levels.put(place, p.a, p.metric, levels.at(place, p.ref, p.metric) + own)
        elif not levels.stands(place, p.ref, p.metric):
            levels.put(place, p.ref, p.metric, levels.at(place, p.a, p.metric) - own)


@build.register
def _(predicate: MagnitudeOrder, world: World, levels: Levels) -> None:
    p = predicate
    count = len(p.terms)
    sizes = [0.1 + 0.12 * (count - i) for i in range(count)]
    if world.state == "edge":
        sizes = [0.2] * count
    if world.state == "false":
        sizes = sizes[::-1]
    for term, size in zip(p.terms, sizes, strict=True):
        for place in levels.chosen(p.where | term.where, p.unless, [term.a, term.ref]):
            own = size + _of_page(levels, p)
            levels.ratio(place, term.metric, term.ref, term.a, 1 - own)


@build.register
def _(predicate: AnovaCount, world: World, levels: Levels) -> None:
    """Set on how many pages the test always finds `a` faster, and on how many half of the time. On
    the other pages `a` is slower, or there is no difference.

    Only one count has a band, and it decides. If that is `none`, half of the pages that differ are
    faster and half slower. If all three of three stacks are compared, two of them are alike;
    otherwise their differences would add up.
    """
    from scipy.special import stdtrit

    p = predicate
    alike = _alike(p.pairs)
    for network in p.networks:
        for a, ref in p.pairs:
            places = levels.chosen(p.where | {"network": network}, p.unless, [a, ref])
            total = len(places)
            sure, unsure = _wins(p, world, total)
            bar = float(stdtrit(2 * p.loads - 2, 0.995)) * sqrt(2 / p.loads)
            for metric in p.metrics:
                for i, place in enumerate(places):
                    cv = levels.cv(place)
                    size = 3 * bar * cv if i < sure else bar * cv if i < sure + unsure else 0.0
                    size = 0.0 if (a, ref) in alike else size
                    way = 1 if p.none.low and i % 2 else -1
                    levels.ratio(place, metric, ref, a, 1 + way * size)


def _alike(pairs: Sequence[tuple[str, str]]) -> set[tuple[str, str]]:
    """Return the pairs that a later pair bridges: with the pairs (x, y), (x, z) and (y, z), the
    first."""
    found = set()
    for place, (a, ref) in enumerate(pairs):
        before = pairs[:place]
        if {a, ref} <= {stack for pair in before for stack in pair}:
            found |= {pair for pair in before if a in pair and ref not in pair}
    return found


def _wins(p: AnovaCount, world: World, total: int) -> tuple[int, int]:
    """Return on how many pages `a` always differs, and on how many half of the time."""
    allowed = p.none if p.none.low else p.faster
    low, high = allowed.low, min(allowed.high, total)
    below = world.side == "low" and bool(low)
    if p.none.low:
        expected = {"true": 0.2 * total, "false": 0.9 * total, "edge": total - low + 1}
    elif low:
        wrong = 0.25 * low if below else float(total)
        expected = {
            "true": (low + high) / 2,
            "false": wrong,
            "edge": low - 1 if below else high + 1,
        }
    else:
        expected = {"true": 0.0, "false": 0.5 * total, "edge": high + 1}
    fewer = below and not p.none.low  # fewer pages without a difference mean more pages with one
    expected["inside"] = expected["edge"] + (1 if fewer else -1)
    mean = round(expected[world.state])
    half = min(round(UNSURE * total / 2), mean, total - mean)
    return mean - half, 2 * half


@build.register
def _(predicate: Sensitivity, world: World, levels: Levels) -> None:
    p = predicate
    ratio = p.scale == "ratio"
    clear = CLEAR if ratio else 300.0
    target = _target(_band(p), world, ratio=ratio, clear=clear)
    here = levels.chosen(p.where | p.here, p.unless, [p.stack])
    there = levels.chosen(p.where | p.there, p.unless, [p.stack])
    usual = float(np.mean([levels.at(place, p.stack, p.metric) for place in here]))
    for place in there:
        stands = levels.stands(place, p.stack, p.metric)
        own = levels.at(place, p.stack, p.metric) if stands else usual
        levels.put(place, p.stack, p.metric, own * target if ratio else own + target)


@build.register
def _(predicate: SensitivityOrder, world: World, levels: Levels) -> None:
    p = predicate
    more, less = {"true": (2.0, 1.3), "edge": (1.5, 1.5), "false": (1.3, 2.0)}[world.state]
    for stack, factor in ((p.more, more), (p.less, less)):
        for side, ratio in ((p.here, 1.0), (p.there, factor)):
            for place in levels.chosen(p.where | side, p.unless, [stack]):
                levels.put(place, stack, p.metric, BASE_MS * ratio)


@build.register
def _(predicate: Difference, world: World, levels: Levels) -> None:
    p = predicate
    ms = _target(_band(p), world, ratio=False, clear=300.0)
    for place in levels.chosen(p.where, p.unless, [p.a, p.ref]):
        levels.relate(place, p.metric, p.ref, p.a, lambda x: x + ms, lambda x: x - ms)


@build.register
def _(predicate: Absolute, world: World, levels: Levels) -> None:
    p = predicate
    ms = _target(_band(p), world, ratio=True, clear=CLEAR)
    for place in levels.chosen(p.where, p.unless, [p.stack]):
        levels.put(place, p.stack, p.metric, ms)


@build.register
def _(predicate: ImpliedBytes, world: World, levels: Levels) -> None:
    p = predicate
    carried = _target(_band(p), world, ratio=True, clear=CLEAR)
    for place in levels.chosen(p.where, p.unless, p.stacks):
        for stack in p.stacks:
            levels.put(place, stack, p.metric, carried / (place.factors["rate_mbps"] * 125))


@build.register
def _(predicate: HandshakeRtts, world: World, levels: Levels) -> None:
    p = predicate
    rtts = _target(_band(p), world, ratio=False, clear=0.8)
    for place in levels.chosen(p.where, p.unless, [p.stack]):
        levels.put(place, p.stack, p.metric, rtts * place.factors.get("rtt_ms", 0.0))


@build.register
def _(predicate: OneRtt, world: World, levels: Levels) -> None:
    p = predicate
    left = _target(_band(p), world, ratio=False, clear=1.5)
    for place in levels.chosen(p.where, p.unless, [p.a, p.ref]):
        _residual(levels, place, p.a, p.ref, p.metric, left)


def _residual(levels: Levels, place: Place, a: str, ref: str, metric: str, left: float) -> None:
    rtt_ms = place.factors["rtt_ms"]
    ref_ms = max(4.0, 2.0 - left) * rtt_ms
    levels.put(place, ref, metric, ref_ms)
    levels.put(place, a, metric, ref_ms + (left - 1) * rtt_ms)


@build.register
def _(predicate: OneRttTable, world: World, levels: Levels) -> None:
    """Make some rows lead and others trail by a third of a round trip, and one row have the
    greatest magnitude if the claim states it."""
    p = predicate
    places = levels.chosen(p.where, p.unless, [p.a, p.ref])
    rows = [(place, metric) for metric in p.metrics for place in places]
    positive = {"true": min(3, p.positive.high), "edge": p.positive.high + 1, "false": len(rows)}
    size = 0.35
    if p.greatest:
        middle = sqrt(max(p.greatest.low, size) * p.greatest.high)
        size = {"true": middle, "edge": 1.0, "false": 1.0}[world.state]
    beyond = 1.6 if world.state == "false" and not p.greatest else size
    for i, (place, metric) in enumerate(rows):
        edge = world.state == "edge" and i + 1 == positive["edge"]
        sign = 1 if i < positive[world.state] else -1
        left = 0.0 if edge else sign * (beyond if sign > 0 else size)
        _residual(levels, place, p.a, p.ref, metric, left)


@build.register
def _(predicate: FasterShare, world: World, levels: Levels) -> None:
    p = predicate
    places = levels.chosen(p.where, p.unless, [p.a, *p.than])
    _count(levels, places, world, _band(p), lambda place, way: _beat(levels, p, place, way))


@build.register
def _(predicate: ShareOrder, world: World, levels: Levels) -> None:
    p = predicate
    shares = {"true": (0.9, 0.5), "edge": (0.7, 0.7), "false": (0.5, 0.9)}[world.state]
    for side, share in zip((p.more, p.less), shares, strict=True):
        places = levels.chosen(p.where | side, p.unless, [p.a, *p.than])
        _spread(places, share, lambda place, way: _beat(levels, p, place, way))


def _beat(levels: Levels, p: FasterShare | ShareOrder, place: Place, way: int) -> None:
    """Make a stack win. The first of several rivals decides, and the others are behind."""
    for i, rival in enumerate(p.than):
        levels.put(place, rival, p.metric, BASE_MS if i == 0 else BASE_MS * 2)
    levels.put(place, p.a, p.metric, BASE_MS * CLEAR**-way)


def _count(
    levels: Levels,
    places: Sequence[Place],
    world: World,
    band: tuple[float, float],
    put: Callable[[Place, int], None],
) -> None:
    """Set how many cells win, so that the claim's share lies where the world wants it."""
    low, high = max(band[0], 0.0), min(band[1], 1.0)
    edge = low if (world.side == "low" and band[0] > -inf) or band[1] == inf else high
    wrong = edge / 2 if edge == low else min(1.0, (1 + edge) / 2)
    middle = (low + high) / 2 if band[0] > -inf and band[1] < inf else (edge + (edge == low)) / 2
    shares = {"true": middle, "edge": edge, "inside": edge, "false": wrong}
    beyond = -1 if edge == low else 1
    nudge = {"edge": beyond, "inside": -beyond}.get(world.state, 0)
    _spread(places, shares[world.state], put, nudge)


def _spread(
    places: Sequence[Place], share: float, put: Callable[[Place, int], None], nudge: int = 0
) -> None:
    """Call `put` with 1 for a cell that supports the claim, with -1 for a cell against it, and with
    0 for a cell that could fall either way. As many cells as fit get 0. `nudge` rounds down or
    up."""
    total = len(places)
    wanted = share * total
    mean = {-1: floor(wanted - 1e-9), 0: round(wanted), 1: ceil(wanted + 1e-9)}[nudge]
    half = max(0, min(round(UNSURE * total / 2), mean, total - mean))
    sure, either = mean - half, 2 * half
    for i, place in enumerate(places):
        put(place, 1 if i < sure else 0 if i < sure + either else -1)


@build.register
def _(predicate: Extreme, world: World, levels: Levels) -> None:
    """Make a tenth of the cells as slow as the slowest cell, and both stacks equal on all
    others."""
    p = predicate
    most = _target(_band(p), world, ratio=True, clear=CLEAR)
    for metric in p.metrics or [p.metric]:
        places = levels.chosen(p.where, p.unless, [p.a, *p.b])
        few = max(3, round(0.1 * len(places)))
        for i, place in enumerate(places):
            for b in p.b:
                slow = most if i < few else min(most, 0.9)
                levels.ratio(place, metric, p.a, b, slow if b == p.b[0] else min(slow, 0.9))


@build.register
def _(predicate: Rule7010, world: World, levels: Levels) -> None:
    p = predicate
    for place in levels.chosen(p.where, p.unless, list(p.names)):
        _scenario(levels, p.names, place, p.metric, p.winner, world.state)


def _scenario(
    levels: Levels,
    names: Mapping[str, str],
    place: Place,
    metric: str,
    winner: str,
    state: State,
) -> None:
    """Set the levels of a scenario. If the claim is true, the winner takes half the time. On the
    edge, the winner is just as far ahead of the next protocol as the rule wants: 70 % of its loads
    lie below 0.9 times the other's mean."""
    just = (1 - FASTER) / levels.q70(place)
    first = next(iter(names))
    winning = [s for s, name in names.items() if name in winner.split("|")]
    if winner == EQUAL:
        quick = {"true": 1.0, "edge": just, "false": 0.5}[state]
        factors = {s: quick if s == first else 1.0 for s in names}
    else:
        ahead = {"true": 0.5, "edge": just, "false": 1.0}[state]
        rival = next(s for s in names if s not in winning)
        factors = {
            s: ahead if s in winning else 1.0 if s == rival or state == "false" else 2.0
            for s in names
        }
    for stack, factor in factors.items():
        levels.put(place, stack, metric, BASE_MS * factor)


@build.register
def _(predicate: ScenarioShare, world: World, levels: Levels) -> None:
    p = predicate
    places = levels.chosen(p.where, p.unless, list(p.names))
    _count(
        levels,
        places,
        world,
        _band(p),
        lambda place, way: _scenario(
            levels, p.names, place, p.metric, p.winner, ("edge", "true", "false")[way]
        ),
    )


@build.register
def _(predicate: Tree, world: World, levels: Levels) -> None:
    p = predicate
    places = levels.chosen(p.where, p.unless, list(p.names))

    turns = cycle((1, -1))

    def put(place: Place, way: int) -> None:
        read = {
            name: level.low if _value(place, level.factor) < level.split else level.high
            for name, level in p.levels.items()
        }
        leaf = next(
            leaf
            for leaf in p.leaves
            if all(read[name] == level for name, level in leaf.levels.items())
        )
        if way == 0 and leaf.winner not in p.names.values():
            way = next(turns)  # which of two winners wins, or none, has no single edge
        state: State = ("edge", "true", "false")[way]
        if state == "false":  # a winner that no leaf has
            _scenario(levels, p.names, place, p.metric, "SPDY|HTTP", "true")
        else:
            _scenario(levels, p.names, place, p.metric, leaf.winner, state)

    _count(levels, places, world, _band(p), put)


def _value(place: Place, factor: str) -> float:
    return place.factors.get(factor, 0.0)


@build.register
def _(predicate: Corpus, world: World, levels: Levels) -> None:
    p = predicate
    target = _target(_band(p), world, ratio=True, clear=CLEAR)
    for place in levels.chosen(p.where, p.unless, []):
        levels.factors[place.page, p.of] = target
        if p.of == "object_bytes":
            objects = place.factors.get("objects", 1.0)
            levels.factors[place.page, "page_bytes"] = target * objects


@build.register
def _(predicate: AuditCount, world: World, levels: Levels) -> None:
    half = predicate.captures // 2
    levels.impossible = {"true": predicate.at_least, "edge": predicate.at_least, "false": half}[
        world.state
    ]
