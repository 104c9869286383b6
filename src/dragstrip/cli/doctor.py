"""`dragstrip doctor`: can this machine race, and how well?"""

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from typing import Annotated

import msgspec
import typer
from msgspec import Struct
from rich.console import Console

from dragstrip.browsers.chromium import browser_version
from dragstrip.cli import exits
from dragstrip.model.thresholds import Thresholds
from dragstrip.testbed.errors import TestbedError
from dragstrip.testbed.programs import program
from dragstrip.testbed.testbed import testbed
from dragstrip.testbed.workspace import sweep
from dragstrip.visit.host import HostMeter

_PACKAGES = {
    "ip": "iproute2",
    "unshare": "util-linux",
    "ethtool": "ethtool",
    "certutil": "libnss3-tools",
    "setpriv": "util-linux",
}
_STEAL_SAMPLE_S = 1.0


class Finding(Struct, frozen=True, kw_only=True):
    """One thing looked at. `mend` says what to do where it is not `good`."""

    what: str
    good: bool
    needed: bool = True
    found: str = ""
    mend: str = ""


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> int:
    """Say whether races can run here, and what to do where they cannot."""
    findings = list(_examine())
    if as_json:
        sys.stdout.buffer.write(
            msgspec.json.format(msgspec.json.encode(findings), indent=2) + b"\n"
        )
    console = Console(stderr=as_json)
    for finding in findings:
        mark = "[green]ok  [/green]" if finding.good else "[red]no  [/red]"
        if not finding.good and not finding.needed:
            mark = "[yellow]weak[/yellow]"
        mend = "" if finding.good else f": {finding.mend}"
        console.print(f"{mark} {finding.what}  {finding.found}{mend}", highlight=False)
    return exits.NO_TESTBED if any(f.needed and not f.good for f in findings) else exits.DONE


def _examine() -> Iterator[Finding]:
    for name, package in _PACKAGES.items():
        path = shutil.which(name) or ""
        mend = f"apt-get install {package}"
        yield Finding(what=name, good=bool(path), found=path, mend=mend)
    yield _attempt("browser", browser_version)
    yield _attempt("link program", lambda: program("dragstrip-link"))
    yield _attempt("origin program", lambda: program("dragstrip-origin"))
    yield _steal()
    stale = sweep()
    yield Finding(what="stale testbeds", good=True, found=f"{len(stale)} removed")
    yield from _try_testbed()
    cores = os.cpu_count() or 1
    yield Finding(
        what="cores",
        good=cores >= 2,
        needed=False,
        found=str(cores),
        mend="with one core, link and browser wait for each other",
    )


def _attempt(what: str, look: Callable[[], str]) -> Finding:
    try:
        return Finding(what=what, good=True, found=look())
    except TestbedError as error:
        return Finding(what=what, good=False, mend=str(error))


def _steal() -> Finding:
    meter = HostMeter()
    time.sleep(_STEAL_SAMPLE_S)
    share, limit = meter.report().steal_share, Thresholds().steal_share
    return Finding(
        what="host",
        good=share <= limit,
        needed=False,
        found=f"{share:.1%} of the CPU time stolen by the hypervisor just now",
        mend=f"above {limit:.0%} visits are judged overloaded; try again when the host is quiet",
    )


def _try_testbed() -> Iterator[Finding]:
    try:
        with testbed(["doctor.test"]) as bed:
            mode = "rootless" if bed.spaces.rootless else "root"
            yield Finding(what="testbed", good=True, found=f"starts ({mode})")
            yield Finding(
                what="real-time link",
                good=bed.link.realtime,
                needed=False,
                found="SCHED_FIFO" if bed.link.realtime else "normal priority",
                mend="packets will leave late when the machine is busy; run as root",
            )
    except TestbedError as error:
        yield Finding(what="testbed", good=False, mend=str(error))
