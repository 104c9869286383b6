"""Encrypted Client Hello in guests: what the wire shows, and what a stale key costs."""

import pytest
from msgspec import structs

from dragstrip.conduct.visits import make_visits
from dragstrip.model.clock import NETWORK
from dragstrip.model.ech import PUBLIC_NAME
from dragstrip.model.names import Dns
from dragstrip.model.study import Client
from dragstrip.results.capsule import Capsule
from dragstrip.results.dissect import packets
from dragstrip.study.presets import find_network, find_stack, in_browser
from dragstrip.study.spec import StudySpec
from dragstrip.testbed.servers.packages import unpacked

NAME = "www.synth.test"


def test_the_wire_shows_the_public_name_alone_and_a_stale_key_costs_round_trips(tmp_path):
    plain = in_browser(find_stack("quic-go-h2"), "chromium")
    if not unpacked(plain.serving):
        pytest.skip("not installed: dragstrip servers install quic-go")
    hidden = [structs.replace(plain, name=ech, ech=ech) for ech in ("keys", "stale-keys")]
    lte = structs.replace(find_network("LTE"), dns=Dns(delay_ms=25))
    study = StudySpec(
        name="ech",
        pages=["synth:1x10KB"],
        networks=[lte],
        stacks=[plain, *hidden],
        runs=1,
        seed=3,
        controls=False,
        client=Client(pcap=True),
        clock=NETWORK,
    ).resolve(tmp_path)
    make_visits(study, tmp_path / "c")
    found = {v.stack: v for v in Capsule.open(tmp_path / "c").visits()}
    assert {v.stack: v.reasons for v in found.values() if not v.valid} == {}
    named = {
        name: [p.host for p in packets(tmp_path / "c", visit) if p.host]
        for name, visit in found.items()
    }
    assert set(named[plain.name]) == {NAME}
    assert set(named["keys"]) == set(named["stale-keys"]) == {PUBLIC_NAME}
    assert len(named["stale-keys"]) > len(named["keys"])  # connections begin again
    assert {r.ech for r in found["keys"].requests} == {True}
    assert {r.ech for r in found[plain.name].requests} == {False}
    later_ms = found["stale-keys"].ttfb_ms - found["keys"].ttfb_ms
    assert 2 * 74 <= later_ms <= 2.5 * 74  # TCP and TLS again
