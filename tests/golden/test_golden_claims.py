"""Every claim's answer to made-up loads, so that rules do not change without a new version.

An answer that changes needs a higher `version` in its paper's claims.toml, or a higher `VERSION` of
`dragstrip_papers.predicates`. Then:

UPDATE_GOLDEN=1 uv run pytest tests/golden/test_golden_claims.py
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from dragstrip_papers import predicates
from dragstrip_papers.campaign.space import space
from dragstrip_papers.claims import KNOWN, answers, published
from dragstrip_papers.measured import Evidence
from made_loads import as_if_run

FOLDER = Path(__file__).parent / "claims"


def today(key: str) -> dict[str, Any]:
    paper = published(key)
    evidence = Evidence(as_if_run(space(paper.specs())))
    return {
        "claims": paper.paper.version,
        "predicates": predicates.VERSION,
        "answers": {
            claim: f"{answer.verdict}: {answer.ours}".removesuffix(": ")
            for claim, answer in answers(key, evidence).items()
        },
    }


@pytest.mark.parametrize("key", KNOWN)
def test_an_answer_changes_with_its_version_only(key):
    file, found = FOLDER / f"{key}.json", today(key)
    kept = json.loads(file.read_text()) if file.exists() else {"answers": {}}
    if os.environ.get("UPDATE_GOLDEN"):
        known = found["answers"].keys() & kept["answers"].keys()
        moved = [claim for claim in known if found["answers"][claim] != kept["answers"][claim]]
        raised = [found[part] > kept.get(part, 0) for part in ("claims", "predicates")]
        assert not moved or any(raised), f"raise a version first: {sorted(moved)}"
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    assert found == json.loads(file.read_text())
