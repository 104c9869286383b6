"""The properties and programs of a machine of a cluster, as far as they may matter to a visit."""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from dragstrip.model.calibration import Calibration
from dragstrip.model.clock import Clock
from dragstrip.results.aa_control import AAControl
from dragstrip.results.machine import Machine


class Fingerprint(Struct, frozen=True, kw_only=True):
    machine: Machine
    dragstrip: str
    """Commit of dragstrip, or its version if it does not run from a checkout."""
    rules: int
    """The machine's `dragstrip.verdict.rules.VERSION`."""
    programs: Mapping[str, str] = {}
    """First 12 hex digits of the SHA-256 of link and origin, by name."""
    browsers: Mapping[str, str] = {}
    """Name and version of the browser or load generator, by stack."""
    servers: Mapping[str, str] = {}
    """Versions of servers other than our own, by name."""
    guest: str = ""
    """Name of the guests' kernel in virtual time."""
    calibration: Calibration | None = None
    """The calibration of the machine's link; None if it was not measured."""
    aa_control: AAControl | None = None
    """The machine's A/A control; None if none was made, for example in virtual time."""


def unlike(one: Fingerprint, other: Fingerprint) -> list[str]:
    """Return why visits of `other` can never be compared with those of `one`; empty if they can."""
    pairs = (
        ("dragstrip", one.dragstrip, other.dragstrip),
        ("rules", one.rules, other.rules),
    )
    return [_said(*pair) for pair in pairs if pair[1] != pair[2]]


def differences(one: Fingerprint, other: Fingerprint, clock: Clock) -> list[str]:
    """Return properties that can make visits on the two machines differ, in words. In virtual time,
    kernel and CPU make no difference."""
    return [_said(*pair) for pair in _pairs(one, other, clock) if pair[1] != pair[2]]


def _pairs(
    one: Fingerprint, other: Fingerprint, clock: Clock
) -> Iterator[tuple[str, object, object]]:
    for name in one.browsers:
        yield f"browser of {name}", one.browsers[name], other.browsers.get(name)
    for name in one.servers:
        yield name, one.servers[name], other.servers.get(name)
    for name in one.programs:
        yield f"dragstrip-{name}", one.programs[name], other.programs.get(name)
    if clock.virtual:
        yield "guests' kernel", one.guest, other.guest
    else:
        yield "kernel", one.machine.kernel, other.machine.kernel
        yield "CPU", one.machine.cpu, other.machine.cpu
        yield "cores", one.machine.cores, other.machine.cores


def _said(what: str, there: object, here: object) -> str:
    return f"{what} {here}, others {there}"
