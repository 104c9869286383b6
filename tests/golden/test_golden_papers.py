"""The page of all claims, from made-up answers of one paper.

UPDATE_GOLDEN=1 uv run pytest tests/golden/test_golden_papers.py
"""

import os
from pathlib import Path

from dragstrip_papers.answer import Verdict
from dragstrip_papers.claims import published
from dragstrip_papers.overall.given import IN_VIRTUAL_TIME, Given, Told, Way
from dragstrip_papers.overall.headline import Headline
from dragstrip_papers.overall.needs import Power
from dragstrip_papers.overall.rows import rows
from dragstrip_papers.report.overall import page

GOLDEN = Path(__file__).parent / "papers.md"
UNSURE = {5: Power(0.4, 0.7), 50: Power(0.7, 1.0)}
HEADLINE = Headline(
    paper="ranjan2019",
    text="Of {all} claims {reproduced} are reproduced and {open} open; with loss it is 0.81.",
    rests_on={"02": "reproduced"},
    quotes={"02": "0.81"},
)


def made(way: Way, page: str, rules: str, answers: dict[str, tuple[Verdict, str]]) -> Given:
    """Made-up loads, five per cell."""
    return Given(
        paper="ranjan2019",
        page=page,
        way=way,
        clock="network" if way in IN_VIRTUAL_TIME else "real",
        made="2026-11-25",
        rules=rules,
        frozen=bool(rules),
        source="capsule" if rules else "published page",
        command="",
        answers=tuple(
            Told(
                id=f"ranjan2019-{number}",
                answer=answer,
                ours=ours,
                why="the interval reaches over the edge" if answer == "open" else "",
                stacks="native" if way == "native" else "surrogate",
                pages="stand-in",
                loads=5,
            )
            for number, (answer, ours) in answers.items()
        ),
    )


GIVEN = (
    made("browser", "old", "", {"02": ("contradicted", "1.2 [1.1, 1.3]")}),
    made(
        "native",
        "own",
        "0123456789ab",
        {"02": ("reproduced", "0.81 [0.79, 0.85]"), "03": ("open", "0.97 | 1.02; 1.01")},
    ),
    made("virtual", "predicted", "0123456789ab", {"03": ("equivalent", "1.01 [1, 1.02]")}),
    made("loader", "loaded", "0123456789ab", {"03": ("contradicted", "1.3 [1.2, 1.4]")}),
)


def test_the_page_of_claims_is_as_it_was_last_read():
    found = rows([published("ranjan2019")], GIVEN, {"ranjan2019-04": UNSURE})
    text = page(found, [HEADLINE])
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text()
