"""Which clock a study gets from the command line."""

import pytest
from msgspec import structs

import made
from dragstrip.conduct.options import RunOptions
from dragstrip.model.clock import NETWORK, PRICED, REAL, Clock

OLDER = Clock(kind="computing")


@pytest.mark.parametrize(
    ("own", "asked", "becomes"),
    [
        (REAL, {}, REAL),
        (REAL, {"virtual": True}, PRICED),
        (REAL, {"virtual": True, "computing": False}, NETWORK),
        (REAL, {"virtual": True, "client": "loader"}, NETWORK),
        (REAL, {"computing": True, "client": "loader"}, PRICED),
        (NETWORK, {}, NETWORK),
        (NETWORK, {"virtual": True}, NETWORK),
        (NETWORK, {"computing": True}, PRICED),
        (PRICED, {"virtual": True}, PRICED),
        (PRICED, {"computing": False}, NETWORK),
        (OLDER, {"virtual": True}, OLDER),
    ],
)
def test_a_study_keeps_its_own_clock_unless_another_is_asked_for(own, asked, becomes):
    study = structs.replace(made.study(), clock=own)
    assert RunOptions(**asked).adapt(study).clock == becomes
