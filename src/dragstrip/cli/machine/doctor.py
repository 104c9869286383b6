"""`dragstrip doctor`: can this machine race, and how well?"""

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from typing import Annotated

import msgspec
import typer
from msgspec import Struct, structs
from rich.console import Console

from dragstrip.browsers.environment import named_proxies
from dragstrip.browsers.registry import browser_version
from dragstrip.cli import exits
from dragstrip.cli.machine.calibration import full
from dragstrip.execution.guest.kernel import recipe
from dragstrip.model.browsers import FIREFOX, WPE
from dragstrip.model.network import Network
from dragstrip.model.thresholds import Thresholds
from dragstrip.study.presets import find_network
from dragstrip.testbed.errors import TestbedError
from dragstrip.testbed.legacy.catalogue import catalogue
from dragstrip.testbed.legacy.install import lacking
from dragstrip.testbed.net.refusals import container, refusal, wsl
from dragstrip.testbed.net.wires import NO_IPV6, has_ipv6
from dragstrip.testbed.packages import BASE, HEADLESS
from dragstrip.testbed.programs import program
from dragstrip.testbed.testbed import testbed
from dragstrip.testbed.uplink.pasta import TUN, tun_refused
from dragstrip.testbed.workspace import sweep
from dragstrip.visit.cpu_speed import CpuSpeed
from dragstrip.visit.host import HostMeter

_STEAL_SAMPLE_S = 1.0
_CALIBRATED = ("LTE", "DSL", "100mbit/100mbit/10ms/1%/50ms")
"""Names of the networks to calibrate: a slow, a shallow and a fast one; the last has loss."""


class CheckResult(Struct, frozen=True, kw_only=True):
    """The result of one check. `mend` says what to do if it is not `good`."""

    what: str
    good: bool
    needed: bool = True
    found: str = ""
    mend: str = ""


def doctor(
    calibrate: Annotated[
        bool, typer.Option("--calibrate", help="Measure whether the link does what it is asked.")
    ] = False,
    network: Annotated[
        list[str] | None,
        typer.Option(help="Networks to calibrate, by name or values (default: three)."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> int:
    """Check whether this machine can race; say what to do."""
    if calibrate:
        return _calibrate([find_network(n) for n in network or _CALIBRATED], as_json=as_json)
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


def _calibrate(networks: list[Network], *, as_json: bool) -> int:
    found = full(networks, Console(stderr=as_json))
    if as_json:
        whole = {"good": found.good, **msgspec.to_builtins(found)}
        sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(whole), indent=2) + b"\n")
    return exits.DONE if found.good else exits.NO_TESTBED


def _examine() -> Iterator[CheckResult]:
    for package in BASE:
        if package.name == HEADLESS:
            continue
        yield CheckResult(
            what=package.brings,
            good=package.present,
            needed=package.needed,
            found=shutil.which(package.brings) or "",
            mend=f"needed for {package.use}; run `dragstrip setup`",
        )
    yield from _where()
    refused = tun_refused()
    mend = f"needed for `dragstrip link` and live pages as an ordinary user; {refused}"
    yield CheckResult(what=TUN, good=not refused, needed=False, mend=mend)
    yield _attempt("browser", browser_version)
    yield structs.replace(_attempt("firefox", lambda: browser_version(FIREFOX)), needed=False)
    yield structs.replace(_attempt("WPE WebKit", lambda: browser_version(WPE)), needed=False)
    yield _attempt("link program", lambda: program("dragstrip-link"))
    yield _attempt("origin program", lambda: program("dragstrip-origin"))
    yield _attempt("load generator", lambda: program("dragstrip-loader"))
    yield from _legacy()
    yield _virtual()
    yield _proxies()
    yield _steal()
    yield _speed()
    yield CheckResult(
        what="IPv6",
        good=has_ipv6(),
        needed=False,
        found="in this kernel" if has_ipv6() else "not in this kernel",
        mend=NO_IPV6,
    )
    stale = sweep()
    yield CheckResult(what="stale testbeds", good=True, found=f"{len(stale)} removed")
    yield from _try_testbed()
    cores = os.cpu_count() or 1
    yield CheckResult(
        what="cores",
        good=cores >= 2,
        needed=False,
        found=str(cores),
        mend="with one core, link and browser compete for it",
    )


def _where() -> Iterator[CheckResult]:
    """Yield a check that names the kind of Linux this is, if that matters."""
    if kind := container():
        yield CheckResult(what="container", good=True, found=kind)
    if kind := wsl():
        mend = (
            "the clock of WSL 2 jumps when Windows sleeps: race on a machine that stays awake, or "
            "with --virtual"
        )
        yield CheckResult(what="Windows", good=False, needed=False, found=kind, mend=mend)
    why = refusal()
    yield CheckResult(what="namespaces", good=not why, found="" if why else "allowed", mend=why)


def _attempt(what: str, look: Callable[[], str]) -> CheckResult:
    try:
        return CheckResult(what=what, good=True, found=look())
    except TestbedError as error:
        return CheckResult(what=what, good=False, mend=str(error))


def _legacy() -> Iterator[CheckResult]:
    """Yield a check for each item of the catalogue. The check of an installed item also names the
    libraries that it lacks."""
    for item in catalogue().values():
        lack = lacking([item]) if item.installed else ""
        yield CheckResult(
            what=item.name,
            good=item.installed and not lack,
            needed=False,
            found=str(item.program) if item.installed else "not installed",
            mend=lack or f"needed for {item.group}; dragstrip legacy install {item.group}",
        )


def _virtual() -> CheckResult:
    there = recipe.installed()
    return CheckResult(
        what="virtual time",
        good=there is not None,
        needed=False,
        found=recipe.name_of(there) if there else "no kernel",
        mend=recipe.unfit() or "needed for races with --virtual; dragstrip virtual install",
    )


def _steal() -> CheckResult:
    meter = HostMeter()
    time.sleep(_STEAL_SAMPLE_S)
    share, limit = meter.report().steal_share, Thresholds().steal_share
    return CheckResult(
        what="host",
        good=share <= limit,
        needed=False,
        found=f"{share:.1%} of the CPU time stolen by the hypervisor just now",
        mend=f"above {limit:.0%} visits are judged overloaded; try again when the host is quiet",
    )


def _proxies() -> CheckResult:
    names = named_proxies(os.environ)
    return CheckResult(
        what="proxies",
        good=not names,
        needed=False,
        found=", ".join(names) or "none in the environment",
        mend="browsers in the testbed ignore them, so a live page behind a proxy is unreachable",
    )


def _speed() -> CheckResult:
    seen = CpuSpeed().report()
    limit, throttles = seen["cpu_limit_mhz"], seen["throttled"]
    allowed = "unknown" if limit is None else f"at most {limit:.0f} MHz"
    counted = "not counted" if throttles is None else "counted"
    return CheckResult(
        what="CPU speed", good=True, found=f"{allowed}, thermal throttling is {counted}"
    )


def _try_testbed() -> Iterator[CheckResult]:
    try:
        with testbed(["doctor.test"]) as bed:
            mode = "rootless" if bed.spaces.rootless else "root"
            yield CheckResult(what="testbed", good=True, found=f"starts ({mode})")
            yield CheckResult(
                what="real-time link",
                good=bed.link.realtime,
                needed=False,
                found="SCHED_FIFO" if bed.link.realtime else "normal priority",
                mend="packets will leave late when the machine is busy; run as root",
            )
    except TestbedError as error:
        yield CheckResult(what="testbed", good=False, mend=str(error))
