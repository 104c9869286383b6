"""Predicates answer correctly in made-up worlds. This is a small version of
packages/papers/bench/claims_power.py: for each kind of predicate the claim with the fewest
cells."""

from collections.abc import Iterator
from functools import cache

import pytest

from dragstrip_papers.claims import KNOWN, Claim, Published, published
from dragstrip_papers.reached import looks_at
from dragstrip_papers.worlds.made import worlds
from dragstrip_papers.worlds.simulate import Place, places, simulate

TIMES = 25
ON_THE_EDGE = 7
"""Wrong answers of 25 on an edge: with 5 % of them there are more in one test of a thousand."""


@cache
def all_places(key: str) -> tuple[Published, list[Place]]:
    paper = published(key)
    return paper, places(paper.specs(), paper.parts)


def cells(key: str, claim: Claim) -> list[Place]:
    _, where = all_places(key)
    return [place for place in where if looks_at(claim.predicate, place.field)]


def cheapest() -> Iterator[tuple[str, Claim]]:
    """The cheapest claim of each kind of predicate."""
    kinds: dict[str, tuple[int, str, Claim]] = {}
    for key in KNOWN:
        paper, _ = all_places(key)
        for claim in paper.claims:
            if claim.predicate:
                kind, size = type(claim.predicate).__name__, len(cells(key, claim))
                if kind not in kinds or size < kinds[kind][0]:
                    kinds[kind] = size, key, claim
    for _, key, claim in kinds.values():
        yield key, claim


@pytest.mark.parametrize(("key", "claim"), list(cheapest()), ids=lambda x: getattr(x, "id", x))
def test_a_claim_is_answered_and_seldom_wrongly(key, claim):
    paper, _ = all_places(key)
    where, loads = cells(key, claim), paper.specs()[0].runs
    seen = {
        world.words(): simulate(claim.predicate, world, where, loads, TIMES)
        for world in worlds(claim.predicate)
        if not world.alone
    }
    for world, tally in seen.items():
        if tally.world.state in ("edge", "inside"):
            assert tally.wrong * TIMES <= ON_THE_EDGE, (world, tally.answers)
            continue
        assert tally.wrong <= 0.08, (world, tally.answers)
        assert tally.right >= 0.5, (world, tally.answers)
