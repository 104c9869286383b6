"""Which machines of a cluster may make visits."""

import pytest

from dragstrip.execution.dask.machine_match import MachineMatch
from dragstrip.model.clock import REAL
from dragstrip.results.fingerprint import Fingerprint
from made_cluster import MACHINE


def machine(browser: str) -> Fingerprint:
    return Fingerprint(machine=MACHINE, dragstrip="1", rules=1, browsers={"h2": browser})


@pytest.mark.parametrize("place_of_odd", [0, 1, 2])
def test_most_of_those_that_come_first_decide_in_whatever_order_they_come(place_of_odd):
    come = [machine("usual"), machine("usual")]
    come.insert(place_of_odd, machine("other"))
    match = MachineMatch(REAL)
    refused = [bool(match.refusal(one, come)) for one in come]
    assert refused == [i == place_of_odd for i in range(3)]


def test_later_ones_must_be_like_the_first():
    match = MachineMatch(REAL)
    first = machine("usual")
    assert not match.refusal(first, [first])
    others = [machine("other"), machine("other")]
    assert all(match.refusal(one, others) for one in others)
