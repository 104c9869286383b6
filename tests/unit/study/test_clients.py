"""A browser that runs in real time alone takes part in no study in virtual time."""

import pytest
from msgspec import structs

import made
from dragstrip.model.browsers import FIREFOX, WPE
from dragstrip.model.clock import NETWORK, PRICED, REAL, Clock
from dragstrip.model.errors import InputError
from dragstrip.model.stack import Stack
from dragstrip.model.study import Study
from dragstrip.study.clients import check_clock


def study(clock: Clock, browser: str) -> Study:
    stacks = (Stack(name="a", protocol="h1"), Stack(name="b", protocol="h2", browser=browser))
    return structs.replace(made.study(), clock=clock, stacks=stacks)


@pytest.mark.parametrize("clock", [NETWORK, PRICED])
def test_a_browser_that_needs_real_time_is_refused(clock):
    with pytest.raises(InputError, match=r"stack 'b': WPE WebKit, .* not run in virtual time"):
        check_clock(study(clock, WPE))


@pytest.mark.parametrize(("clock", "browser"), [(REAL, WPE), (NETWORK, FIREFOX)])
def test_others_are_admitted(clock, browser):
    check_clock(study(clock, browser))
