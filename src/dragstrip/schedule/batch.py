"""Blocks that one guest makes one after another, because its start costs more than a visit.

A guest that makes a block also makes the earlier blocks of its batch. Batches depend on the study
alone, so a guest always makes the same blocks before a given one. No visit depends on the number of
jobs, shards or machines, or on where an earlier run stopped.
"""

from bisect import bisect_right
from collections.abc import Hashable
from math import ceil
from typing import NamedTuple

from dragstrip.model.study import Block, Study


class Extent(NamedTuple):
    """Size of a batch: the runs and networks it spans. A batch has one page and one connection
    mode."""

    runs: int
    networks: int
    """Neighbouring networks per batch, in the order of the study."""


_ALONE = Extent(1, 1)
_BROWSER_VISITS = 6
"""Fewest visits per guest, if a cell has as many. A guest's start takes as long as two or three
visits."""
_PREDICTED_VISITS = 32
"""Fewest visits per guest if the load generator makes them: a batch spans neighbouring networks to
reach this. A guest's start takes as long as four such visits."""
_PREDICTED_RUNS = 4


def extent(study: Study) -> Extent:
    """Return the size of the batches of a study that crosses pages and networks."""
    if _alone(study):
        return _ALONE
    if not study.predicted:
        return Extent(ceil(_BROWSER_VISITS / study.visits_per_block), 1)
    ends_early = bool(study.stopping or study.slow)
    networks = ceil(_PREDICTED_VISITS / study.visits_per_block)
    return Extent(_PREDICTED_RUNS, 1 if ends_early else networks)


def _alone(study: Study) -> bool:
    """Return whether each block is its own batch. It is one if the study uses no guests, or if each
    block needs its own browser because a NetLog belongs to a whole browser."""
    return not study.clock.virtual or study.client.net_log


def batches(study: Study) -> list[tuple[Block, ...]]:
    """Return all blocks of the study in batches. A guest makes the blocks of a batch in this order.

    More runs only append batches, and a larger sample begins with the cells of a smaller one. So
    earlier blocks stay unchanged.
    """
    return _drawn(study) if study.sampled else _crossed(study)


def _drawn(study: Study) -> list[tuple[Block, ...]]:
    """Return the batches of a sample, whose cells have little in common. With the load generator,
    the study sets how many blocks share a guest; with browsers each block has its own guest."""
    size = 1 if _alone(study) or not study.predicted else study.per_guest
    rounds: dict[int, list[Block]] = {}
    for block in study.blocks():
        rounds.setdefault(block.index, []).append(block)
    return [
        tuple(blocks[first : first + size])
        for blocks in rounds.values()
        for first in range(0, len(blocks), size)
    ]


def _crossed(study: Study) -> list[tuple[Block, ...]]:
    reach, looks = extent(study), study.looks()
    places = {network.name: place for place, network in enumerate(study.networks)}
    batches_of: dict[Hashable, list[Block]] = {}
    for block in study.blocks():
        place = places[block.network]
        key = (
            block.page,
            block.connection,
            place // reach.networks,
            bisect_right(looks, block.index),  # a cell may end at one of these numbers of blocks
            block.index // reach.runs,
        )
        batches_of.setdefault(key, []).append(block)
    return [
        tuple(sorted(b, key=lambda b: (b.index, places[b.network]))) for b in batches_of.values()
    ]
