"""Devices by name or factor, and the studies that cannot have one."""

import pytest
from msgspec import structs

import made
from dragstrip.model.browsers import FIREFOX, LOADER
from dragstrip.model.clock import NETWORK, PRICED, REAL, Clock
from dragstrip.model.errors import InputError
from dragstrip.model.study import Study
from dragstrip.study.devices import check_device, find_slowdown


@pytest.mark.parametrize(
    ("text", "times"), [("mid-tier-mobile", 4), ("4x", 4), ("1.5x", 1.5), ("100x", 100)]
)
def test_a_device_has_a_name_or_a_factor(text, times):
    assert find_slowdown(text) == times


@pytest.mark.parametrize("text", ["mid-tier", "4", "0.5x", "101x", "x", "-2x", ""])
def test_what_is_no_device_is_refused_with_the_cure(text):
    with pytest.raises(InputError, match=r"choose from high-end-mobile, .* from 1x to 100x"):
        find_slowdown(text)


def slow(clock: Clock, browser: str | None = None) -> Study:
    study = made.study()
    stacks = study.stacks
    if browser:
        stacks = tuple(structs.replace(s, browser=browser) for s in stacks)
    client = structs.replace(study.client, cpu_slowdown=4.0)
    return structs.replace(study, client=client, clock=clock, stacks=stacks)


@pytest.mark.parametrize(
    ("study", "why"),
    [
        (slow(NETWORK), "computing takes no time"),
        (slow(REAL, FIREFOX), "cannot be slowed down in real time"),
        (slow(PRICED, LOADER), "computes nothing of a page"),
    ],
)
def test_a_client_that_cannot_be_slow_is_refused_before_the_first_visit(study, why):
    with pytest.raises(InputError, match=why):
        check_device(study)


@pytest.mark.parametrize("study", [slow(REAL), slow(PRICED), slow(PRICED, FIREFOX), made.study()])
def test_every_other_client_may_be(study):
    check_device(study)
