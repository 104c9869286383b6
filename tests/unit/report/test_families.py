"""IPv6 against IPv4 in the report: which cells are compared, and what else differs."""

import numpy as np
from msgspec import structs

import made
from dragstrip.report.data.families import families
from dragstrip.results.observed import Observations
from dragstrip.study.presets import find_network, find_stack

LTE, LTE6 = find_network("LTE"), find_network("ipv6:LTE")


def observed(*ms: float) -> Observations:
    return Observations(np.array(ms), np.zeros(len(ms), dtype=bool))


def said(*networks, stacks=("h2", "h3", "nginx-h3"), **loads):
    study = structs.replace(
        made.study(), networks=networks, stacks=tuple(find_stack(s) for s in stacks)
    )
    by_cell = {("made", name, "first"): values for name, values in loads.items()}
    return families(study, {key: by_cell.get(key, []) for key in study.cells()})


def test_medians_over_both_families_are_compared_stack_by_stack():
    six = structs.replace(LTE6, name="six")
    found = said(
        LTE,
        six,
        LTE=[observed(100, 200, 210), observed(100, 100), observed()],
        six=[observed(202, 100, 300), observed(99, 99), observed(50)],
    )
    assert found[0] == (
        "Median page load time of made over six against LTE: h2 +1.0 % and h3 -1.0 %."
    )
    assert found[1] == (
        "Over IPv6 every packet has 20 bytes more of headers, which count at the line's rate. A "
        "full TCP segment carries 1428 bytes instead of 1448, also in the initial window. A QUIC "
        "payload of 1452 bytes stays the same, in packets of 1500 bytes instead of 1480. These "
        "cells are not paired by block."
    )


def test_random_loss_is_named_and_tcp_alone_has_no_payload():
    lossy = structs.replace(LTE, down=structs.replace(LTE.down, loss=0.01))
    six = structs.replace(lossy, name="six", family=6)
    loads = [observed(1.0), observed(1.0)]
    *_, last = said(lossy, six, stacks=("h1", "h2"), LTE=loads, six=loads)
    assert last.endswith("These cells are not paired by block and lose other packets.")
    assert "QUIC" not in last


def test_networks_that_differ_in_more_are_not_compared():
    loads = [observed(1.0)] * 3
    slower = structs.replace(LTE6, name="six", down=structs.replace(LTE.down, rate_mbps=1))
    assert said(LTE, slower, LTE=loads, six=loads) == []
    assert said(LTE, LTE=loads) == []
    assert said(LTE6, structs.replace(LTE6, name="six"), six=loads) == []
    assert said(LTE, structs.replace(LTE6, name="six")) == []  # no visits yet
