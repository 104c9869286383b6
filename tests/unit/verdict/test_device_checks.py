"""A client that should be slow is measured to be slow, unless its load never ended."""

import pytest
from msgspec import structs

import made
from dragstrip.model.clock import PRICED, REAL
from dragstrip.verdict.judge import judge


def codes(clock=REAL, asked=4.0, **seen: object) -> set[str]:
    visit = structs.replace(made.visit("h2"), **seen)
    limits = made.study().thresholds
    reasons = judge(visit, made.PAGE, made.LTE, made.STACKS["h2"], limits, clock, slowdown=asked)
    return {reason.code for reason in reasons}


@pytest.mark.parametrize(
    ("shown", "code"),
    [(4.0, set()), (3.0, set()), (5.0, set()), (1.0, {"device-drift"}), (6.0, {"device-drift"})],
)
def test_a_client_is_about_as_slow_as_was_asked(shown, code):
    assert codes(cpu_slowdown=shown) == code


def test_a_slow_down_that_nothing_shows_is_not_believed():
    assert codes(cpu_slowdown=None) == {"device-drift"}


def test_a_load_that_did_not_end_need_not_show_it():
    assert "device-drift" not in codes(cpu_slowdown=None, outcome="timeout", plt_ms=None)


def test_in_virtual_time_prices_make_a_client_slower():
    assert "device-drift" not in codes(PRICED, cpu_slowdown=None)


def test_a_client_as_fast_as_the_machine_is_not_measured():
    assert codes(asked=1.0, cpu_slowdown=None) == set()
