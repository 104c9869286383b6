"""A load event counts as a load only if the whole page arrived."""

import math

import pytest
from msgspec import structs

import made
from dragstrip.model.thresholds import Thresholds
from dragstrip.results.blocks import observe
from dragstrip.verdict.judge import with_verdict

TIMED_OUT = "net::ERR_QUIC_PROTOCOL_ERROR.QUIC_HANDSHAKE_TIMEOUT"
LIMIT_MS = 60_000.0


def judged(visit):
    return with_verdict(visit, made.PAGE, made.LTE, made.STACKS[visit.stack], Thresholds())


def without_last(error, end_ms=800.0, **more):
    """A visit whose last object ends with an error and was never served."""
    whole = made.visit("h3")
    failed = structs.replace(
        whole.requests[-1], protocol=None, status=0, error=error, end_ms=end_ms, digest=""
    )
    requests = (*whole.requests[:-1], failed)
    return structs.replace(whole, requests=requests, served=whole.served[:-1], **more)


@pytest.mark.parametrize(
    ("error", "verdict", "outcome"),
    [
        (TIMED_OUT, "valid", "incomplete"),
        ("net::ERR_QUIC_PROTOCOL_ERROR.QUIC_NETWORK_IDLE_TIMEOUT", "valid", "incomplete"),
        ("net::ERR_CONNECTION_CLOSED", "valid", "incomplete"),
        ("net::ERR_QUIC_PROTOCOL_ERROR.QUIC_INVALID_STREAM_DATA", "replay-miss", "incomplete"),
        ("net::ERR_CERT_INVALID", "replay-miss", "loaded"),
    ],
)
def test_an_object_lost_by_the_network_is_an_outcome(error, verdict, outcome):
    found = judged(without_last(error))
    assert (found.verdict, found.outcome) == (verdict, outcome)
    assert found.error == (error if outcome == "incomplete" else "")
    assert judged(found) == found


def test_what_is_lost_after_the_load_event_is_not_waited_for():
    assert judged(without_last(TIMED_OUT, end_ms=901.0)).outcome == "loaded"


def test_an_object_that_came_by_another_request_is_not_lost():
    visit = without_last(TIMED_OUT)
    again = made.visit("h3").requests[-1]
    assert judged(structs.replace(visit, requests=(*visit.requests, again))).outcome == "loaded"


def test_an_object_that_a_rehearsal_did_without_is_not_missed():
    assert judged(without_last(TIMED_OUT, rehearsed=(0, 1))).outcome == "loaded"


def test_an_incomplete_load_names_the_error_of_most_of_its_lost_objects():
    whole = made.visit("h3")
    errors = (TIMED_OUT, "net::ERR_CONNECTION_CLOSED", "net::ERR_CONNECTION_CLOSED")
    lost = zip(whole.requests, errors, strict=True)
    failed = tuple(structs.replace(r, error=error, end_ms=800.0) for r, error in lost)
    found = judged(structs.replace(whole, requests=failed))
    assert (found.outcome, found.error) == ("incomplete", "net::ERR_CONNECTION_CLOSED")


def test_an_incomplete_load_ends_never_but_its_first_byte_came():
    found = judged(without_last(TIMED_OUT))
    assert observe(found, "plt_ms", LIMIT_MS).censored
    assert not observe(found, "ttfb_ms", LIMIT_MS).censored
    assert math.isclose(observe(found, "ttfb_ms", LIMIT_MS).value_ms, 236.0)
