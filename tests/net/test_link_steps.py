"""A link that changes by its own schedule, between two kernels."""

import socket
import time
from typing import Any

import pytest
from test_link_forwarding import ORIGIN_IP, PLAIN, PORT, Bed, running_bed

from dragstrip.testbed.errors import TestbedError

UDP_BYTES = 1000
"""Payload of the datagrams. They take 8.224 ms at 1 Mbit/s."""


@pytest.fixture(scope="module")
def bed(tmp_path_factory: pytest.TempPathFactory):
    with running_bed(tmp_path_factory.mktemp("link")) as made:
        yield made


def configure(bed: Bed, *steps: dict[str, Any], **sides: dict[str, Any]) -> None:
    up, down = (PLAIN | sides.get(side, {}) for side in ("up", "down"))
    at = [
        {"up": up, "down": down} | step | {s: PLAIN | step[s] for s in ("up", "down") if s in step}
        for step in steps
    ]
    bed.link.ask("configure", dict, seed=1, up=up, down=down, at=at)


def start(bed: Bed) -> None:
    bed.link.ask("start", dict, at_ns=time.time_ns())


def stats(bed: Bed) -> dict[str, Any]:
    return bed.link.ask("stats", dict[str, Any])


def phases(bed: Bed, wanted: int) -> list[dict[str, Any]]:
    """The report's phases, once it has `wanted` of them."""
    deadline = time.monotonic() + 10
    while len(found := stats(bed)["phases"]) < wanted:
        assert time.monotonic() < deadline, found
        time.sleep(0.02)
    return found


def test_nothing_changes_before_the_steps_start(bed: Bed) -> None:
    configure(bed, {"t_ms": 1, "down": {"delay_ms": 500}})
    time.sleep(0.05)
    assert len(stats(bed)["phases"]) == 1
    start(bed)
    first, second = phases(bed, 2)
    assert second["at_us"] > first["at_us"]


def test_each_phase_has_its_own_delay_and_both_directions_change_at_once(bed: Bed) -> None:
    far = {"delay_ms": 60}
    configure(bed, {"t_ms": 200, "down": far, "up": far}, down={"delay_ms": 5})
    client, origin = bed.udp()
    with client, origin:
        zero_us = time.time_ns() // 1000
        start(bed)
        origin.send(b"early")
        assert client.recv(9) == b"early"
        phases(bed, 2)
        origin.send(b"late")
        assert client.recv(9) == b"late"
    first, second = phases(bed, 2)
    assert second["at_us"] - zero_us >= 200_000
    assert first["down"]["transit_min_ms"] >= 5
    assert first["down"]["packets_out"] == second["down"]["packets_out"] == 1
    assert second["down"]["transit_min_ms"] >= 60


def test_each_phase_has_its_own_rate(bed: Bed) -> None:
    slow, fast = {"rate_mbps": 1}, {"rate_mbps": 10}
    configure(bed, {"t_ms": 150, "down": fast}, down=slow)
    client, origin = bed.udp()
    with client, origin:
        start(bed)
        for _ in range(5):
            origin.send(bytes(UDP_BYTES))
        for _ in range(5):
            client.recv(2000)
        phases(bed, 2)
        for _ in range(5):
            origin.send(bytes(UDP_BYTES))
        for _ in range(5):
            client.recv(2000)
    for phase, rate in zip(phases(bed, 2), (1, 10), strict=True):
        down = phase["down"]
        assert down["line_bytes"] == 5 * (UDP_BYTES + 28)
        assert down["line_bytes"] * 8 / down["line_ms"] / 1000 == pytest.approx(rate, rel=1e-3)


def test_an_outage_holds_packets_until_it_ends(bed: Bed) -> None:
    silent = {"outage": True}
    configure(bed, {"t_ms": 50, "down": silent}, {"t_ms": 400})
    client, origin = bed.udp()
    with client, origin:
        start(bed)
        phases(bed, 2)
        began = time.monotonic()
        origin.send(b"held")
        assert client.recv(9) == b"held"
        waited_s = time.monotonic() - began
    _, during, after = phases(bed, 3)
    assert during["down"]["packets_out"] == 0
    assert after["at_us"] - during["at_us"] == pytest.approx(350_000, abs=2)
    assert waited_s > 0.05
    assert stats(bed)["down"]["packets_out"] == 1


def test_a_handover_drops_what_waits(bed: Bed) -> None:
    configure(bed, {"t_ms": 60, "drops_down": True}, down={"rate_mbps": 0.1})
    client, origin = bed.udp()
    with client, origin:
        start(bed)
        for _ in range(5):
            origin.send(bytes(UDP_BYTES))
        _, after = phases(bed, 2)
        assert after["down"]["dropped_handover"] == 5
        origin.send(b"next")
        assert client.recv(9) == b"next"
    assert stats(bed)["down"]["dropped_handover"] == 5


@pytest.mark.parametrize(("what", "host"), [("port", "10.64.0.1"), ("address", "100.64.0.1")])
def test_a_rebinding_shows_the_client_elsewhere(bed: Bed, what: str, host: str) -> None:
    rebind = {"what": what, "drops_tcp": False}
    configure(bed, {"t_ms": 50, "rebind": rebind})
    client, origin = bed.udp()
    with client, origin:
        listener = bed.inside("origin", socket.AF_INET, socket.SOCK_DGRAM)
        with listener:
            listener.bind((ORIGIN_IP, PORT + 1))
            client.connect((ORIGIN_IP, PORT + 1))
            start(bed)
            client.send(b"before")
            _, place = listener.recvfrom(9)
            phases(bed, 2)
            listener.sendto(b"lost", place)
            client.send(b"after")
            said, moved = listener.recvfrom(9)
            assert said == b"after"
            assert moved[0] == host
            assert (moved[1] == place[1]) == (what == "address")
            listener.sendto(b"answer", moved)
            assert client.recv(9) == b"answer"
    _, after = phases(bed, 2)
    assert after["rebinding"] == {
        "what": what,
        "mappings": [[f"10.64.0.1:{PORT}", f"{moved[0]}:{moved[1]}"]],
    }
    assert stats(bed)["down"]["dropped_nat"] == 1


def test_steps_out_of_order_are_named(bed: Bed) -> None:
    with pytest.raises(TestbedError, match=r"at\[1\].t_ms is 40: give more than 50"):
        configure(bed, {"t_ms": 50}, {"t_ms": 40})
    with pytest.raises(TestbedError, match=r"at\[0\].down.rate_mbps is 0"):
        configure(bed, {"t_ms": 50, "down": {"rate_mbps": 0}})


def test_a_link_that_was_never_given_steps_has_no_phases(bed: Bed) -> None:
    bed.configure(down={"delay_ms": 1})
    assert "phases" not in stats(bed)
