"""Calibration believes what it measures, not what the link was told."""

from collections.abc import Callable

from msgspec import structs

from dragstrip.model.network import Network
from dragstrip.testbed.calibrate import measure as module
from dragstrip.testbed.calibrate.measure import Effort, calibrate
from dragstrip.testbed.net.link import Link

ASKED = Network.parse("8mbit/8mbit/10ms/0%/60ms")
QUICK = Effort(exchanges=3, flood_s=0.2, stream_s=None)
_TRIES = 4
"""Tries of a calibration: on a busy machine one reading in so short a time may hide another."""


def finds(what: str, monkeypatch, **down: float) -> bool:
    """Whether a calibration finds `what` wrong while the link secretly has another downstream."""
    honest = Link.configure

    def lying(link: Link, network: Network, seed: int) -> None:
        lie = {k: v for k, v in down.items() if getattr(network.down, k) is not None}
        honest(link, structs.replace(network, down=structs.replace(network.down, **lie)), seed)

    return finds_with(what, monkeypatch, lying)


def finds_with(what: str, monkeypatch, lying: Callable[[Link, Network, int], None]) -> bool:
    monkeypatch.setattr(Link, "configure", lying)
    monkeypatch.setattr(module, "_ATTEMPTS", 1)
    tries = (calibrate([ASKED], effort=QUICK).readings for _ in range(_TRIES))
    return any(
        what == f"{r.side} {r.quantity}" for readings in tries for r in readings if not r.good
    )


def test_a_slower_line_is_found(monkeypatch):
    assert finds("down rate", monkeypatch, rate_mbps=7.0)


def test_a_longer_way_is_found(monkeypatch):
    assert finds("None round trip", monkeypatch, delay_ms=14.0)


def test_a_deeper_queue_is_found(monkeypatch):
    assert finds("down queue depth", monkeypatch, queue_ms=90.0)


def test_hidden_loss_is_found(monkeypatch):
    honest = Link.configure

    def lying(link: Link, network: Network, seed: int) -> None:
        lossy = network.down if network.down.rate_mbps else structs.replace(network.down, loss=0.01)
        honest(link, structs.replace(network, down=lossy), seed)

    assert finds_with("down loss", monkeypatch, lying)


def test_every_quantity_gets_a_line_and_a_reason_where_it_is_skipped():
    found = calibrate([Network.parse("unlimited/5mbit/2ms/0%/unbounded")], effort=QUICK)
    lines = {(r.side, r.quantity): r for r in found.readings}
    assert {q for _, q in lines} == {"round trip", "rate", "burst", "queue depth", "loss"}
    assert lines["down", "rate"].verdict == "skipped"
    assert lines["down", "rate"].note == "no rate is asked for"
    assert lines["up", "queue depth"].note == "unbounded"
