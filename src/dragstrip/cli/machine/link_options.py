"""Interprets the options of `dragstrip link`."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from msgspec import structs

from dragstrip.model.effects import Side
from dragstrip.model.errors import InputError
from dragstrip.model.network import Network
from dragstrip.model.units import parse_duration_ms, parse_rate_mbps, parse_share
from dragstrip.study.presets import OVER_IPV6, find_network, networks
from dragstrip.testbed.net.link import PortRange
from dragstrip.testbed.uplink.expose import ExposedPort

_TOOLS = ("devtools", "lighthouse", "sitespeed", "wpt")
_MOST_PORT = 65535

Sides = Mapping[Side, str]
"""A value as typed, for each direction that it changes."""
_NONE: Sides = MappingProxyType({})


def both(value: str | None) -> Sides:
    """Return the value for both directions; none if it is None."""
    return each(value, value)


def each(down: str | None, up: str | None) -> Sides:
    """Return a value for each direction; None is left out."""
    given: dict[Side, str | None] = {"down": down, "up": up}
    return {side: text for side, text in given.items() if text is not None}


def changed(
    network: Network,
    *,
    rate: Sides = _NONE,
    delay: Sides = _NONE,
    loss: Sides = _NONE,
    queue: Sides = _NONE,
) -> Network:
    """Return the network with the given values. A rate replaces a trace. Raises `InputError`."""
    sides: dict[Side, dict[str, Any]] = {"down": {}, "up": {}}
    for side, text in rate.items():
        sides[side] |= {"rate_mbps": parse_rate_mbps(text), "trace": None}
    for side, text in delay.items():
        sides[side]["delay_ms"] = parse_duration_ms(text)
    for side, text in loss.items():
        sides[side]["loss"] = parse_share(text)
    for side, text in queue.items():
        sides[side]["queue_ms"] = None if text == "unbounded" else parse_duration_ms(text)
    if not any(sides.values()):
        return network
    own = network.name in ("bare", "link") or network.name.endswith(", changed")
    name = "link" if network.name == "bare" else network.name if own else f"{network.name}, changed"
    try:
        return structs.replace(
            network,
            name=name,
            source="given on the command line",
            down=structs.replace(network.down, **sides["down"]),
            up=structs.replace(network.up, **sides["up"]),
        )
    except ValueError as error:
        raise InputError(str(error)) from None


def find_carried(text: str) -> Network:
    """Return a network for a link, which carries both address families at once. Raises
    `InputError`."""
    found = find_network(text)
    if found.family != 4:
        raise InputError(
            f"network {text!r} is of a race over IPv{found.family}; `dragstrip link` carries IPv4 "
            f"and IPv6: omit {OVER_IPV6}"
        )
    return found


def profiles() -> list[Network]:
    """Return the networks of other tools."""
    return [n for n in networks().values() if n.name.startswith(_TOOLS)]


def find_profile(text: str) -> Network:
    """Return a network of another tool, given the name it has here or the name it has in the tool,
    such as ``Slow 3G``.

    Raises `InputError` if there is none, or if tools disagree on it.
    """
    wanted = _squeezed(text)
    found = [n for n in profiles() if wanted and _squeezed(n.name).endswith(wanted)]
    exact = [n for n in found if _squeezed(n.name) == wanted]
    alike = all((n.down, n.up) == (found[0].down, found[0].up) for n in found)
    if exact or (found and alike):
        return (exact or found)[0]
    names = ", ".join(n.name for n in found or profiles())
    why = "more than one tool has it" if found else "no tool has it"
    raise InputError(f"--profile {text!r}: {why}; choose from {names}")


def parse_ports(texts: Iterable[str]) -> list[PortRange]:
    """Parse ranges of ports such as ``443,8000-8100``. Raises `InputError`."""
    ranges = []
    for part in (part.strip() for text in texts for part in text.split(",")):
        first, dash, last = part.partition("-")
        pair = _port(first), _port(last if dash else first)
        if pair[0] is None or pair[1] is None or pair[0] > pair[1]:
            raise InputError(f"--ports {part!r} is no port; write it like 443 or 443,8000-8100")
        ranges.append((pair[0], pair[1]))
    return ranges


def parse_exposed(texts: Iterable[str]) -> list[ExposedPort]:
    """Parse ports such as ``8080``, ``8080/udp``, or ``18080:8080`` if this machine uses another
    port. Raises `InputError`."""
    wanted: list[ExposedPort] = []
    for text in texts:
        ports, slash, carrier = text.strip().partition("/")
        here, colon, behind = ports.partition(":")
        pair = _port(here), _port(behind if colon else here)
        if (
            pair[0] is None
            or pair[1] is None
            or carrier not in (("tcp", "udp") if slash else ("",))
        ):
            raise InputError(
                f"--expose {text!r} is no port; write it like 8080, 8080/udp for UDP, or "
                "18080:8080 if port 18080 of this machine shall lead to the server on 8080"
            )
        port = ExposedPort(pair[0], pair[1], "udp" if carrier == "udp" else "tcp")
        if any((p.here, p.carrier) == (port.here, port.carrier) for p in wanted):
            raise InputError(f"--expose names port {port.here} twice; give each port once")
        wanted.append(port)
    return wanted


def _port(text: str) -> int | None:
    number = int(text) if text.strip().isascii() and text.strip().isdigit() else 0
    return number if 0 < number <= _MOST_PORT else None


def _squeezed(text: str) -> str:
    return "".join(c for c in text.lower() if c.isalnum())
