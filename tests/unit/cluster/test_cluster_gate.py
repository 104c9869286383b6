"""Which machines of a cluster may make visits."""

import pytest

from dragstrip.cluster.gate import Gate
from dragstrip.model.clock import REAL
from dragstrip.results.fingerprint import Fingerprint
from made_cluster import MACHINE


def machine(browser: str) -> Fingerprint:
    return Fingerprint(machine=MACHINE, dragstrip="1", rules=1, browsers={"h2": browser})


@pytest.mark.parametrize("place_of_odd", [0, 1, 2])
def test_most_of_those_that_come_first_decide_in_whatever_order_they_come(place_of_odd):
    come = [machine("usual"), machine("usual")]
    come.insert(place_of_odd, machine("other"))
    gate = Gate(REAL)
    refused = [bool(gate.refusal(one, come)) for one in come]
    assert refused == [i == place_of_odd for i in range(3)]


def test_later_ones_must_be_like_the_first():
    gate = Gate(REAL)
    first = machine("usual")
    assert not gate.refusal(first, [first])
    others = [machine("other"), machine("other")]
    assert all(gate.refusal(one, others) for one in others)
