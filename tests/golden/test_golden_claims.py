"""Every claim's answer to made-up loads, so that rules do not change without a new version.

One table has the answers to loads that are alike for all stacks but QUIC, with those to direction
and size. The other has one answer in each world of `dragstrip_papers.worlds`: where the claim is
true, on its edge, and false.

An answer that changes needs a higher `version` in its paper's claims.toml, or a higher `VERSION` of
`dragstrip_papers.predicates`. Then:

UPDATE_GOLDEN=1 uv run pytest tests/golden/test_golden_claims.py
"""

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from dragstrip_papers import predicates
from dragstrip_papers.campaign.space import space
from dragstrip_papers.claims import KNOWN, Claim, Published, answers, published
from dragstrip_papers.measured import Evidence
from dragstrip_papers.reached import looks_at
from dragstrip_papers.worlds.made import Place, worlds
from dragstrip_papers.worlds.simulate import places, simulate
from made_loads import as_if_run

FOLDER = Path(__file__).parent / "claims"
LOADS = 10


def today(key: str) -> dict[str, Any]:
    paper = published(key)
    evidence = Evidence(as_if_run(space(paper.specs())))
    return {
        "claims": paper.paper.version,
        "predicates": predicates.VERSION,
        "answers": {
            claim: f"{answer.verdict} ({answer.direction}, {answer.size}): {answer.ours}"
            for claim, answer in answers(key, evidence).items()
        },
        "worlds": {claim.id: in_worlds(paper, claim) for claim in paper.claims if claim.predicate},
    }


def in_worlds(paper: Published, claim: Claim) -> str:
    """The answer in each world, from ten loads per cell."""
    predicate = claim.predicate
    where = [place for place in everywhere(paper.key) if looks_at(predicate, place.field)]
    told = []
    for world in worlds(predicate):
        (answer,) = simulate(predicate, world, where, LOADS, 1).answers
        told.append(f"{world.words()}: {answer}")
    return "; ".join(told)


@cache
def everywhere(key: str) -> list[Place]:
    paper = published(key)
    return places(paper.specs(), paper.parts)


@pytest.mark.parametrize("key", KNOWN)
def test_an_answer_changes_with_its_version_only(key):
    file, found = FOLDER / f"{key}.json", today(key)
    kept = json.loads(file.read_text()) if file.exists() else {}
    if os.environ.get("UPDATE_GOLDEN"):
        moved = [
            claim
            for table in ("answers", "worlds")
            for claim, answer in kept.get(table, {}).items()
            if found[table].get(claim, answer) != answer
        ]
        raised = [found[part] > kept.get(part, 0) for part in ("claims", "predicates")]
        assert not moved or any(raised), f"raise a version first: {sorted(moved)}"
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    assert found == json.loads(file.read_text())
