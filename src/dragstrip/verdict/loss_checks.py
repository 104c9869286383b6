"""Checks that the stacks of a block, which share a seed, lost the same packets by index and
direction."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import combinations, islice

from dragstrip.model.effects import Side
from dragstrip.model.visit import Visit

_RUN = re.compile(r"(\d*)([+.-])")
_SIDES: tuple[Side, Side] = ("down", "up")


def uneven_losses(visits: Sequence[Visit]) -> Iterator[str]:
    """Yield a sentence for each direction in which random loss dropped a packet for one stack and
    passed the same packet for another. Only packets that reached the loss stage for both stacks
    count. A link that changes meets each stack's packets at other places: `link_checks` alone
    judges its loss."""
    for side in _SIDES:
        fates = [
            (v.stack, v.link.direction(side).loss_fates)
            for v in visits
            if v.link and not v.link.phases
        ]
        pairs = combinations([one for one in fates if one[1]], 2)
        differences = (words for one, other in pairs if (words := _difference(one, other)))
        yield from (f"{side}: {words}" for words in islice(differences, 1))


def _difference(one: tuple[str, str], other: tuple[str, str]) -> str:
    """Return the difference between two stacks' fates in words; empty if there is none."""
    (name, fates), (other_name, other_fates) = one, other
    (tried, lost), (other_tried, other_lost) = masks(fates), masks(other_fates)
    both = tried & other_tried
    differ = (lost ^ other_lost) & both
    if not differ:
        return ""
    return (
        f"{differ.bit_count()} of {both.bit_count()} packets were lost for {name} or for "
        f"{other_name} only, though both have the same seed; the first is packet "
        f"{(differ & -differ).bit_length() - 1}"
    )


@lru_cache(maxsize=64)
def masks(fates: str) -> tuple[int, int]:
    """Return two bit masks by packet index: packets that reached the loss stage, and packets lost.
    `fates` is `DirectionReport.loss_fates`."""
    tried = lost = at = 0
    for length, fate in _RUN.findall(fates):
        count = int(length or 1)
        bits = ((1 << count) - 1) << at
        tried |= bits if fate != "." else 0
        lost |= bits if fate == "-" else 0
        at += count
    return tried, lost
