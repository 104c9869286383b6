"""What the kernel says of its backlogs of packets, machine-wide."""

from pathlib import Path

import pytest

from dragstrip.visit import host

BEFORE = "00251705 00000001 00000002 00000000\n0024426b 00000000 0000000a 00000000\n"
AFTER = "00251905 00000010 00000002 00000000\n0024426b 00000002 0000000b 00000000\n"


def test_a_visits_share_is_what_was_added_over_all_cpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = tmp_path / "softnet_stat"
    monkeypatch.setattr(host, "_SOFTNET", told)
    told.write_text(BEFORE)
    meter = host.HostMeter()
    told.write_text(AFTER)
    report = meter.report()
    assert (report.backlog_dropped, report.backlog_squeezed) == (17, 1)


def test_a_kernel_that_does_not_say_leaves_it_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host, "_SOFTNET", tmp_path / "nowhere")
    report = host.HostMeter().report()
    assert (report.backlog_dropped, report.backlog_squeezed) == (None, None)
