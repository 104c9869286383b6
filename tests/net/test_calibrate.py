"""Calibration believes what it measures, not what the link was told."""

from msgspec import structs

from dragstrip.model.network import Network
from dragstrip.testbed.calibrate import measure as module
from dragstrip.testbed.calibrate.measure import Effort, calibrate
from dragstrip.testbed.net.link import Link

ASKED = Network.parse("8mbit/8mbit/10ms/0%/60ms")
QUICK = Effort(exchanges=3, flood_s=0.2, stream_s=None)


def out_of_tolerance(monkeypatch, **down: float) -> set[str]:
    """Quantities a calibration finds wrong while the link secretly is another one downstream."""
    honest = Link.configure

    def lying(link: Link, network: Network, seed: int) -> None:
        lie = {k: v for k, v in down.items() if getattr(network.down, k) is not None}
        honest(link, structs.replace(network, down=structs.replace(network.down, **lie)), seed)

    monkeypatch.setattr(Link, "configure", lying)
    monkeypatch.setattr(module, "_ATTEMPTS", 1)
    return {
        f"{r.side} {r.quantity}" for r in calibrate([ASKED], effort=QUICK).readings if not r.good
    }


def test_a_slower_line_is_found(monkeypatch):
    assert "down rate" in out_of_tolerance(monkeypatch, rate_mbps=7.0)


def test_a_longer_way_is_found(monkeypatch):
    assert "None round trip" in out_of_tolerance(monkeypatch, delay_ms=14.0)


def test_a_deeper_queue_is_found(monkeypatch):
    assert "down queue depth" in out_of_tolerance(monkeypatch, queue_ms=90.0)


def test_hidden_loss_is_found(monkeypatch):
    found = calibrate_with_loss(monkeypatch)
    assert "down loss" in found


def calibrate_with_loss(monkeypatch) -> set[str]:
    honest = Link.configure

    def lying(link: Link, network: Network, seed: int) -> None:
        lossy = network.down if network.down.rate_mbps else structs.replace(network.down, loss=0.01)
        honest(link, structs.replace(network, down=lossy), seed)

    monkeypatch.setattr(Link, "configure", lying)
    monkeypatch.setattr(module, "_ATTEMPTS", 1)
    return {
        f"{r.side} {r.quantity}" for r in calibrate([ASKED], effort=QUICK).readings if not r.good
    }


def test_every_quantity_gets_a_line_and_a_reason_where_it_is_skipped():
    found = calibrate([Network.parse("unlimited/5mbit/2ms/0%/unbounded")], effort=QUICK)
    lines = {(r.side, r.quantity): r for r in found.readings}
    assert {q for _, q in lines} == {"round trip", "rate", "burst", "queue depth", "loss"}
    assert lines["down", "rate"].verdict == "skipped"
    assert lines["down", "rate"].note == "no rate is asked for"
    assert lines["up", "queue depth"].note == "unbounded"
