"""Draws the spread of page load times as random loss grows: biswal2016's figure 1, for any page and
link.

Networks that differ only in loss share a picture. Every visit is a dot next to its box.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape

import numpy as np
from msgspec import Struct, structs

from dragstrip.model.effects import Direction
from dragstrip.model.network import Network
from dragstrip.model.stack import ConnectionMode, Stack
from dragstrip.model.study import CellKey, Study
from dragstrip.model.units import plain
from dragstrip.report.figures import palette
from dragstrip.report.figures.axis import step
from dragstrip.report.words.numbers import counted, duration
from dragstrip.results.observed import Observations
from dragstrip.stats.tukey import box

WIDTH, HEIGHT, LEFT, TOP, FOOT = 1000, 320, 60, 30, 40
_STYLE = (
    "svg.spread{width:100%;height:auto;display:block;font-size:11px}"
    "svg.spread text{fill:#5c626e}svg.spread .grid{stroke:#e6e8ec}"
    "svg.spread .left{text-anchor:end}svg.spread .middle{text-anchor:middle}"
    "svg.spread .loss{text-anchor:middle;fill:#1d2129;font-weight:600}"
)


class SpreadLevel(Struct, frozen=True):
    """Page load times in ms at one loss rate, of the blocks that count, by stack. Censored loads
    are left out."""

    network: Network
    loads: tuple[tuple[float, ...], ...]
    """Load times in the order of the study's stacks."""
    censored: int


class SpreadFigure(Struct, frozen=True, kw_only=True):
    page: str
    connection: ConnectionMode
    stacks: tuple[Stack, ...]
    levels: tuple[SpreadLevel, ...]
    """Levels by ascending loss, at least two."""


CellLoads = Sequence[Observations]
"""Page load times of a cell, in the order of the study's stacks."""


def spreads(study: Study, loads: Mapping[CellKey, CellLoads]) -> Iterator[SpreadFigure]:
    """Yield a figure for every page that was loaded over networks that differ only in loss."""
    for page in study.pages:
        for connection in study.connections:
            for family in _families(study.networks):
                reached = (
                    _level(n, loads.get((page.name, n.name, connection), ())) for n in family
                )
                levels = tuple(level for level in reached if any(level.loads))
                if len(levels) > 1:
                    yield SpreadFigure(
                        page=page.name, connection=connection, stacks=study.stacks, levels=levels
                    )


def _level(network: Network, loads: CellLoads) -> SpreadLevel:
    return SpreadLevel(
        network,
        tuple(tuple(own.values[~(np.isnan(own.values) | own.censored)].tolist()) for own in loads),
        sum(int(own.censored.sum()) for own in loads),
    )


def _families(networks: Sequence[Network]) -> Iterator[list[Network]]:
    """Yield groups of networks that differ only in name, source and random loss, by ascending
    loss."""
    families: dict[Network, list[Network]] = {}
    for network in networks:
        families.setdefault(_lossless(network), []).append(network)
    for family in families.values():
        if len({n.two_way_loss for n in family}) > 1:
            yield sorted(family, key=lambda n: n.two_way_loss)


def _lossless(network: Network) -> Network:
    def only(direction: Direction) -> Direction:
        return structs.replace(direction, loss=0.0, gilbert_elliott=None)

    return structs.replace(
        network, name="", source="", down=only(network.down), up=only(network.up)
    )


def drawing(spread: SpreadFigure) -> str:
    """Draw the SVG: one group of boxes per loss rate, with a box per stack."""
    highest_ms = max(ms for level in spread.levels for own in level.loads for ms in own)
    scale = (HEIGHT - TOP - FOOT) / (highest_ms * 1.04)

    def y(ms: float) -> float:
        return HEIGHT - FOOT - ms * scale

    group = (WIDTH - LEFT) / len(spread.levels)
    slot = group * 0.86 / len(spread.stacks)
    parts = [*_axis(highest_ms, y)]
    for i, level in enumerate(spread.levels):
        left = LEFT + i * group + group * 0.07
        parts.append(_text(left + group * 0.43, HEIGHT - 8, _loss(level), "loss"))
        for j, (stack, loads) in enumerate(zip(spread.stacks, level.loads, strict=True)):
            centre = left + (j + 0.5) * slot
            parts.append(_text(centre, HEIGHT - FOOT + 15, stack.name, "middle"))
            if loads:
                tint = palette.colour(stack.protocol)
                parts += _box(loads, tint, centre, min(slot * 0.36, 44), y)
    label = escape(f"Page load times of {spread.page} by loss")
    return (
        f'<svg class="spread" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">'
        f"<style>{_STYLE}</style>{''.join(parts)}</svg>"
    )


def _axis(highest_ms: float, y: Callable[[float], float]) -> Iterator[str]:
    apart = step(highest_ms, 6)
    for i in range(int(highest_ms // apart) + 1):
        at = y(i * apart)
        yield f'<path class="grid" d="M{LEFT} {at:.1f}H{WIDTH}"/>'
        yield _text(LEFT - 8, at + 4, f"{i * apart / 1000:g} s", "left")


def _box(
    loads: Sequence[float], tint: str, centre: float, wide: float, y: Callable[[float], float]
) -> Iterator[str]:
    """Yield the SVG of Tukey's box left of the centre, and of every visit in order to the right."""
    seen, middle = box(loads), centre - wide / 2 - 2
    yield (
        f'<path d="M{middle:.1f} {y(seen.low):.1f}V{y(seen.q1):.1f}M{middle:.1f} {y(seen.q3):.1f}'
        f'V{y(seen.high):.1f}" stroke="{tint}"/>'
        f'<rect x="{middle - wide / 2:.1f}" y="{y(seen.q3):.1f}" width="{wide:.1f}" '
        f'height="{max(y(seen.q1) - y(seen.q3), 1):.1f}" fill="{tint}" fill-opacity="0.18" '
        f'stroke="{tint}"/>'
        f'<path d="M{middle - wide / 2:.1f} {y(seen.median):.1f}h{wide:.1f}" stroke="{tint}" '
        f'stroke-width="2.5"><title>median {duration(seen.median)} of '
        f"{counted(seen.n, 'visit')}</title></path>"
    )
    for i, ms in enumerate(loads):
        x = centre + 4 + wide * (i + 0.5) / len(loads)
        yield (
            f'<circle cx="{x:.1f}" cy="{y(ms):.1f}" r="2.5" fill="{tint}" fill-opacity="0.7">'
            f"<title>{duration(ms)}</title></circle>"
        )


def _loss(level: SpreadLevel) -> str:
    """Write the loss rate in words, per direction and two-way."""
    network = level.network
    text = (
        f"{plain(network.down.mean_loss * 100)} % down, {plain(network.up.mean_loss * 100)} % up "
        f"(two-way {plain(network.two_way_loss * 100)} %)"
    )
    return f"{text}, {level.censored} not loaded" if level.censored else text


def _text(x: float, y: float, text: str, kind: str) -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>'
