"""Predicts the result at a place between cells of a sample from the nearest cells.

The k nearest neighbours vote. To measure how often the vote is right, each cell is left out of its
own vote (Fix and Hodges 1951; Stone 1974). One weight per factor is fitted, and no other parameter.
The page of the factor map computes the same in the browser, `docs/map/nearest.js`.
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
"""Which of two stacks is faster. The order is the order of columns in a vote."""
ANSWERS: tuple[Answer, ...] = ("b", "neither", "a")

NEIGHBOURS = 25
"""Number of neighbours; our choice. It gives shares in steps of 4 %, and in a sample of a thousand
cells that many lie near."""
MARGIN = 0.02
"""Margin of a ratio; our choice. A ratio nearer to 1 counts as no difference."""
_TRIED = (0.25, 0.5, 1.0, 1.5, 2.0)
_ROUNDS = 2


def outcomes(ratios: Sequence[float] | Floats, margin: float = MARGIN) -> NDArray[np.int_]:
    """Return the index in `ANSWERS` for each ratio b / a of times. A ratio is infinite if only b
    did not end, and 0 if only a did not."""
    found = np.asarray(ratios, dtype=float)
    faster, slower = found < 1 / (1 + margin), found > 1 + margin
    return np.where(faster, 0, np.where(slower, 2, 1))


def votes(places: Floats, answers: NDArray[np.int_], k: int = NEIGHBOURS) -> Floats:
    """Return one row per cell: the shares of `ANSWERS` among the `k` cells nearest to it.

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
    """Return the mean logarithmic score of left-out cells, lower is better. An answer that got no
    vote counts as having half a vote (Good 1952)."""
    given = (shares[np.arange(len(answers)), answers] * k + 0.5) / (k + 1.5)
    return float(-np.log(given).mean())


def weights(places: Floats, answers: Sequence[NDArray[np.int_]]) -> tuple[float, ...]:
    """Return one weight per factor, such that the votes predict left-out cells best, for all
    `answers` together. Each factor's weight is chosen from a few values, one factor after the
    other, so the result is not always the best of all."""
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
    """Left-out cells whose neighbours were about equally sure, as one group."""

    low: float
    """Least share of the leading answer in this group; the next group's is the upper limit."""
    cells: int
    said: float
    """Mean share of the leading answer."""
    right: float
    """Share of cells for which the leading answer is right."""


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
    """Return where a value lies between `low` and `high` on a logarithmic scale: from 0 to 1, and
    beyond these if it lies outside."""
    return log(value / low) / log(high / low)
