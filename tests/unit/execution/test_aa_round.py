"""Which blocks of an A/A control count."""

from msgspec import structs

import made
from dragstrip.execution.dask.aa_control import round_of
from dragstrip.model.visit import Reason, Visit
from dragstrip.study.controls import SAME

H2 = made.STACKS["h2"]
STUDY = structs.replace(made.study(), stacks=(H2, structs.replace(H2, name=SAME)))


def visit(block: str, stack: str, plt_ms: float | None, attempt: int = 0, code: str = "") -> Visit:
    reasons = (Reason(code, "made up"),) if code else ()
    made_up = made.visit("h2", block=block, attempt=attempt, reasons=reasons)
    return structs.replace(made_up, stack=stack, plt_ms=plt_ms)


def test_the_last_attempt_of_a_block_counts_if_both_its_visits_do():
    found = round_of(
        STUDY,
        [
            visit("once", "h2", 300.0),
            visit("once", SAME, 301.0),
            visit("again", "h2", 900.0, code="overloaded"),
            visit("again", SAME, 901.0),
            visit("again", SAME, 311.0, attempt=1),
            visit("again", "h2", 310.0, attempt=1),
            visit("never", "h2", 320.0),
            visit("never", SAME, 321.0, code="overloaded"),
            visit("half", "h2", 330.0),
            visit("failed", "h2", 340.0),
            visit("failed", SAME, None),
        ],
        took_s=9.0,
    )
    assert (found.a_ms, found.b_ms) == ((300.0, 310.0), (301.0, 311.0))
    assert found.visits == 11
    assert found.invalid == {"overloaded": 2}
    assert found.mostly_invalid
