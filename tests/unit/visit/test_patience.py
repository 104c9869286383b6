"""Waiting for a quiet machine ends: at once where it is quiet, and for good where it never is."""

import pytest

from dragstrip.model.thresholds import Thresholds
from dragstrip.visit import host

BUSY = host.HostReport(wall_ms=10, busy_share=1.0, steal_share=0.0)


class Meter:
    """Returns the readings it was made with; counts the calls."""

    def __init__(self, *reports: host.HostReport) -> None:
        self.left = list(reports)
        self.asked = 0

    def __call__(self) -> "Meter":
        return self

    def report(self) -> host.HostReport:
        self.asked += 1
        return self.left.pop(0) if self.left else BUSY


@pytest.fixture
def meter(monkeypatch):
    def told(*reports):
        made = Meter(*reports)
        monkeypatch.setattr(host, "HostMeter", made)
        monkeypatch.setattr(host, "_SAMPLE_S", 0.01)
        return made

    return told


def test_a_quiet_machine_is_looked_at_once(meter):
    quiet = meter(host.HostReport(wall_ms=10, busy_share=0.01, steal_share=0.0))
    host.Patience().await_quiet(Thresholds())
    assert quiet.asked == 1


def test_it_goes_on_as_soon_as_others_stop(meter):
    first = meter(BUSY, BUSY, host.HostReport(wall_ms=10, busy_share=0.0, steal_share=0.0))
    host.Patience().await_quiet(Thresholds())
    assert first.asked == 3


def test_a_machine_that_is_never_quiet_is_waited_for_only_so_long_in_all(meter):
    never = meter()
    patience = host.Patience(at_once_s=0.05, at_most_s=0.1, share=0)
    while patience.left_s() > 0:
        patience.await_quiet(Thresholds())
    asked = never.asked
    assert asked >= 2
    patience.await_quiet(Thresholds())
    assert never.asked == asked


def test_a_long_run_may_wait_longer(meter, monkeypatch):
    meter()
    now = [0.0]
    monkeypatch.setattr(host.time, "monotonic", lambda: now[0])
    patience = host.Patience(at_most_s=60, share=0.1)
    now[0] = 1000.0
    assert patience.left_s() == 160.0
