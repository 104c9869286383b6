"""The A/A control of a machine, with real visits: an honest machine passes, and a lie shows, even
on a busy machine. Visits that were held up count here, and the lie is much longer than such a
delay. test_aa_control shows how short a lie may be."""

from functools import partial

import pytest
from msgspec import structs

from conftest import LENIENT
from dragstrip.execution.dask.aa_control import NETWORK, aa_control
from dragstrip.execution.session import visit_session
from dragstrip.model.study import Client, Study
from dragstrip.study.presets import find_network, find_stack
from dragstrip.study.spec import StudySpec

HELD_RTTS = round(500 / NETWORK.rtt_ms)


@pytest.fixture
def study(tmp_path) -> Study:
    return StudySpec(
        name="any",
        pages=["demo"],
        networks=[find_network("LTE")],
        stacks=[find_stack("h2"), find_stack("h3")],
        runs=1,
        seed=1,
        client=Client(),
        thresholds=LENIENT,
    ).resolve(tmp_path)


def holds_one_side(study: Study, folder, pages):
    """A machine that holds the first answers of the second name for half a second."""
    first, second = study.stacks
    late = structs.replace(second, hold_rtts=HELD_RTTS)
    return partial(visit_session, structs.replace(study, stacks=(first, late)), folder, pages)


def test_a_round_is_made_of_valid_visits_and_keeps_nothing(study):
    found = aa_control(study, 0)
    [made] = found.rounds
    assert made.a_ms, made.invalid
    assert all(ms > 50 for ms in (*made.a_ms, *made.b_ms))
    assert (found.stack, found.page) == ("h2", "demo")


def test_a_machine_that_holds_the_answers_of_one_side_is_refused(study):
    found = aa_control(study, 0, holds_one_side)
    while not found.passed and not found.refusal:  # as a cluster does
        found = aa_control(study, len(found.rounds), holds_one_side).after(found)
    assert "h2 is slower under its second name" in found.refusal, found
    assert not any(one.shown < 0 for one in found.rounds), found
