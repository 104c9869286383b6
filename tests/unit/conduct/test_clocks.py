"""Which clock a study gets from the command line."""

import pytest
from msgspec import structs

import made
from dragstrip.conduct.clocks import timed
from dragstrip.model.clock import COMPUTING, NETWORK, REAL


@pytest.mark.parametrize(
    ("own", "asked", "becomes"),
    [
        (REAL, NETWORK, NETWORK),
        (REAL, COMPUTING, COMPUTING),
        (NETWORK, REAL, NETWORK),
        (NETWORK, COMPUTING, COMPUTING),
        (COMPUTING, REAL, COMPUTING),
        (COMPUTING, NETWORK, COMPUTING),
    ],
)
def test_a_study_keeps_its_own_clock_unless_another_is_asked_for(own, asked, becomes):
    study = structs.replace(made.study(), clock=own)
    assert timed(study, asked).clock == becomes
