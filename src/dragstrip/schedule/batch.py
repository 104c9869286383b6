"""Blocks that one guest makes one after another, because its start costs more than a visit.

A batch follows from the study alone, so nothing a visit finds depends on how many jobs, shards or
machines make the study, or on where an earlier run stopped: what a guest did before a block is the
same each time. Whoever makes a block makes those before it in its batch too.
"""

from bisect import bisect_right
from collections.abc import Hashable
from math import ceil
from typing import NamedTuple

from dragstrip.model.clock import NETWORK
from dragstrip.model.study import Block, Study


class Extent(NamedTuple):
    """How far a batch reaches in a study. It has one page and one connection mode."""

    runs: int
    networks: int
    """In the order of the study."""


_ALONE = Extent(1, 1)
_BROWSER_VISITS = 6
"""At least so many in a guest, if a cell has as many: its start takes as long as two or three."""
_PREDICTED_VISITS = 32
"""So many a run at least, on neighbouring networks: a guest's start takes as long as four."""
_PREDICTED_RUNS = 4


def extent(study: Study) -> Extent:
    """Of its batches. Where computing takes time, a block's guest is its own: what ran before would
    show. A NetLog belongs to a whole browser, and so to one block."""
    if study.clock != NETWORK or study.client.net_log:
        return _ALONE
    if not study.predicted:
        return Extent(ceil(_BROWSER_VISITS / len(study.visited)), 1)
    ends_early = bool(study.stopping or study.slow)
    networks = ceil(_PREDICTED_VISITS / len(study.visited))
    return Extent(_PREDICTED_RUNS, 1 if ends_early else networks)


def batches(study: Study) -> list[tuple[Block, ...]]:
    """All blocks of the study, in batches, each in the order in which it is made.

    Runs that are added later come after those that are there, so these stay what they were.
    """
    if study.sampled:
        return _sampled(study)
    reach, looks = extent(study), study.looks()
    places = {network.name: place for place, network in enumerate(study.networks)}
    found: dict[Hashable, list[Block]] = {}
    for block in study.blocks():
        place = places[block.network]
        key = (
            block.page,
            block.connection,
            place // reach.networks,
            bisect_right(looks, block.index),  # a cell may end there
            block.index // reach.runs,
        )
        found.setdefault(key, []).append(block)
    return [tuple(sorted(b, key=lambda b: (b.index, places[b.network]))) for b in found.values()]


def _sampled(study: Study) -> list[tuple[Block, ...]]:
    """Blocks in a row, whatever their cells. Only the load generator shares guests."""
    alone = study.clock != NETWORK or study.client.net_log or not study.predicted
    blocks, many = list(study.blocks()), 1 if alone else study.per_guest
    return [tuple(blocks[at : at + many]) for at in range(0, len(blocks), many)]
