"""The nearest cells of a sample as a prediction for a place between them.

The k nearest neighbours' vote, and how often it is right where a cell is left out of its own vote
(Fix and Hodges 1951; Stone 1974). Nothing is fitted but one weight per factor. The page of the
factor map does the same sums in the browser, `docs/map/nearest.js`.
"""

from collections.abc import Sequence
from math import log
from typing import Literal

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from scipy.spatial import cKDTree

Floats = NDArray[np.float64]
Answer = Literal["b", "neither", "a"]
"""Which of two stacks is faster; the order is that of the columns of a vote."""
ANSWERS: tuple[Answer, ...] = ("b", "neither", "a")

NEIGHBOURS = 25
"""Number of neighbours. Our choice: shares in steps of 4 %, and no more cells than lie near in a
sample of a thousand."""
MARGIN = 0.02
"""Margin of a ratio: one that is nearer to 1 is no difference; our choice."""
_TRIED = (0.25, 0.5, 1.0, 1.5, 2.0)
_ROUNDS = 2


def outcomes(ratios: Sequence[float] | Floats, margin: float = MARGIN) -> NDArray[np.int_]:
    """Return places in `ANSWERS`, of ratios b / a of times; infinity where b alone did not end, 0
    where a alone did not."""
    found = np.asarray(ratios, dtype=float)
    faster, slower = found < 1 / (1 + margin), found > 1 + margin
    return np.where(faster, 0, np.where(slower, 2, 1))


def votes(places: Floats, answers: NDArray[np.int_], k: int = NEIGHBOURS) -> Floats:
    """Return one row per cell: the shares of `ANSWERS` among its `k` nearest others.

    `places` has one row per cell and one column per factor, already weighted. Raises `ValueError`
    if there are not more than `k` cells.
    """
    if len(places) <= k:
        raise ValueError(f"{len(places)} cells have no {k} neighbours each")
    _, near = cKDTree(places).query(places, k + 1)
    others = np.array([row[row != i][:k] for i, row in enumerate(near)])
    voted = answers[others]
    return np.stack([(voted == one).mean(axis=1) for one in range(len(ANSWERS))], axis=1)


def surprise(shares: Floats, answers: NDArray[np.int_], k: int = NEIGHBOURS) -> float:
    """Return the mean logarithmic score of left-out cells, lower is better; an answer without a
    vote counts as half a vote (Good 1952)."""
    given = (shares[np.arange(len(answers)), answers] * k + 0.5) / (k + 1.5)
    return float(-np.log(given).mean())


def weights(places: Floats, answers: Sequence[NDArray[np.int_]]) -> tuple[float, ...]:
    """Return one weight per factor: those of a few by which the votes predict left-out cells best,
    for all `answers` together. Found factor by factor, so not always the best of all."""
    found = [1.0] * places.shape[1]

    def cost(tried: Sequence[float]) -> float:
        moved = places * np.asarray(tried)
        return sum(surprise(votes(moved, one), one) for one in answers)

    for _ in range(_ROUNDS):
        for factor in range(len(found)):
            options = {w: cost([*found[:factor], w, *found[factor + 1 :]]) for w in _TRIED}
            found[factor] = min(options, key=lambda w: (options[w], -w))
    return tuple(found)


class Trust(Struct, frozen=True, kw_only=True):
    """Left-out cells whose neighbours were about as sure."""

    low: float
    """Least share of the leading answer, up to the next group's."""
    cells: int
    said: float
    """Mean share of the leading answer."""
    right: float
    """Share of cells in which it is the cell's own."""


def trust(
    shares: Floats, answers: NDArray[np.int_], lows: Sequence[float] = (0.0, 0.6, 0.8, 0.95)
) -> list[Trust]:
    """Return how sure the neighbours are, and how often they are right. Empty groups are left
    out."""
    lead, best = shares.max(axis=1), shares.argmax(axis=1)
    found = []
    for low, high in zip(lows, (*lows[1:], np.inf), strict=True):
        mine = (lead >= low) & (lead < high)
        if mine.any():
            right = float((best == answers)[mine].mean())
            said = float(lead[mine].mean())
            found.append(Trust(low=low, cells=int(mine.sum()), said=said, right=right))
    return found


def position(value: float, low: float, high: float) -> float:
    """Where a value lies between two on a logarithmic scale: 0 to 1, and beyond outside."""
    return log(value / low) / log(high / low)
