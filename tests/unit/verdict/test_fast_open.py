"""The verdict on TCP Fast Open."""

import pytest
from msgspec import structs

import made
from dragstrip.model.visit import FastOpen
from dragstrip.study.presets import find_stack
from dragstrip.verdict.fast_open_checks import fast_open

STACK = find_stack("TFO")


def visit(connection, *openings, lost=False, primed=("a.test",)):
    seen = made.visit("h2")
    link = structs.replace(seen.link, up=structs.replace(seen.link.up, dropped_loss=int(lost)))
    said = [
        FastOpen(host="a.test", opening=opening, start_ms=n) for n, opening in enumerate(openings)
    ]
    return structs.replace(
        seen, connection=connection, fast_open=tuple(said), link=link, primed=primed
    )


@pytest.mark.parametrize(
    "good",
    [
        visit("first", "no-cookie", "accepted"),
        visit("repeat", "accepted", "no-cookie"),
        visit("repeat", "refused", lost=True),
        visit("repeat", "no-cookie", primed=()),
    ],
)
def test_as_the_stack_says(good):
    assert not list(fast_open(good, STACK))


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        (visit("first", "accepted"), "warm"),
        (visit("repeat", "no-cookie"), "stack-drift"),
        (visit("repeat", "refused"), "stack-drift"),
        (visit("repeat"), "stack-drift"),
    ],
)
def test_not_as_the_stack_says(wrong, code):
    [reason] = fast_open(wrong, STACK)
    assert reason.code == code


def test_no_connection_opens_fast_unasked():
    plain = find_stack("TCP+")
    assert not list(fast_open(visit("repeat"), plain))
    [reason] = fast_open(visit("repeat", "accepted"), plain)
    assert (reason.code, "a.test" in reason.detail) == ("stack-drift", True)
