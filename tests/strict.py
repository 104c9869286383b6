"""Strict mode (`DRAGSTRIP_STRICT=1`, as in `.ci/run`): a skip that is not on the list below fails.

Otherwise a missing tool, a busy machine or the time limit would turn tests into silence.
"""

import os
import re
from collections.abc import Generator

import pytest

STRICT = os.environ.get("DRAGSTRIP_STRICT", "") not in ("", "0")

ALLOWED = {
    r"HTTP/1\.1 has no streams": "a combination that does not exist",
    r"SPEEDLINE_DIR is not set": "compares with a tool of npm, by hand",
    r"BENCH_TOOLS is not set": "tools of npm, by hand",
    r"PERF_CASCADE is not set": "compares with a reader of npm, by hand",
    r"HAR_SCHEMA_DIR names no folder": "compares with a schema of npm, by hand",
    r"the recordings of \.\./shared are absent": "pages that are not ours to ship",
    r"this machine has no such address of its own": "depends on the machine's network",
    r"dragstrip servers install (bun|node)": "more than 50 MB each, fetched by hand",
    r"dragstrip servers install quic-go": "needs a newer Go than Debian 12 has",
    r"dragstrip servers install (noq|s2n-quic)": "a hundred crates each, built by hand",
    r"dragstrip setup wpe": "170 MB, fetched by hand",
    r"may not open /dev/net/tun": "depends on the machine's devices",
    r"can be read by an ordinary user here": "a checkout below /root",
    r"readable for an ordinary user here": "a checkout below /root",
}
"""Part of the reason, and why such a skip hides nothing."""


def allowed(reason: str) -> bool:
    return any(re.search(part, reason) for part in ALLOWED)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    _judge(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    _judge(report)
    return report


def _judge(report: pytest.TestReport | pytest.CollectReport) -> None:
    if not STRICT or report.outcome != "skipped" or hasattr(report, "wasxfail"):
        return
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    if not allowed(reason):
        report.outcome = "failed"
        report.longrepr = f"skipped in strict mode: {reason.removeprefix('Skipped: ')}"
