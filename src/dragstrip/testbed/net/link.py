"""The emulated link as a running process. docs/reference/processes.md describes its protocol."""

import contextlib
import os
import time
from collections.abc import Iterator, Mapping, Sequence, Set
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec
from msgspec import Struct

from dragstrip.model.effects import STAGES, Direction, Side
from dragstrip.model.network import Network
from dragstrip.model.visit import LinkReport
from dragstrip.testbed.errors import TestbedError
from dragstrip.testbed.net.namespaces import Namespaces
from dragstrip.testbed.process import JsonProcess, json_process
from dragstrip.testbed.programs import program

EXACT_TIMERS = "DRAGSTRIP_EXACT_TIMERS"
"""Environment variable that is set if timers fire exactly when due, as in a guest in virtual
time."""


PortRange = tuple[int, int]
"""Ports from the first to the last."""


class UnshapedTraffic(Struct, frozen=True):
    """Packets of one direction that passed the link without emulation. Bytes are layer 3."""

    packets: int = 0
    bytes: int = 0
    lost: int = 0
    """Packets that the kernel refused to send."""


class Link:
    """The running link, which `emulated_link` starts."""

    def __init__(self, process: JsonProcess, addresses: Mapping[str, str]) -> None:
        self._process = process
        self.addresses = addresses
        """Addresses of the hosts that a network may name."""
        self._steps = False
        """Whether the network has steps."""
        self.realtime: bool = bool(process.greeting.get("realtime", False))

    def configure(
        self,
        network: Network,
        seed: int,
        record: Path | None = None,
        ports: Sequence[PortRange] = (),
    ) -> None:
        """Emulate `network` with random numbers from `seed`. Packets and counters are reset. Its
        steps wait for `start`.

        Only packets from or to `ports` are shaped; without `ports`, all packets are. The fate of
        every shaped packet is written to `record` (``.csv`` or ``.pcapng``), which is complete
        after the next `configure` or `passthrough`. Raises `TestbedError`.
        """
        steps: dict[str, Any] = {"at": _steps(network, self.addresses)} if network.at else {}
        self._steps = bool(steps)
        place = None if record is None else str(record)
        self._ask("configure", network, seed, ports, record=place, **steps)

    def start(self) -> None:
        """Count the network's steps from now on. Raises `TestbedError`."""
        if self._steps:
            self._process.ask("start", dict[str, Any], at_ns=time.time_ns())

    def change(
        self,
        network: Network,
        seed: int,
        ports: Sequence[PortRange] = (),
        outages: Set[Side] = frozenset(),
    ) -> None:
        """Emulate `network` from now on, but keep packets and counters. In an outage a direction
        carries no packets and its queue fills. `seed` and `ports` are those of `configure`. Raises
        `TestbedError`."""
        self._ask("change", network, seed, ports, outages)

    def _ask(
        self,
        cmd: str,
        network: Network,
        seed: int,
        ports: Sequence[PortRange],
        outages: Set[Side] = frozenset(),
        **more: Any,
    ) -> None:
        sides: dict[str, Any] = {
            side: _wired(network.direction(side), self.addresses) | {"outage": side in outages}
            for side in STAGES
        }
        self._process.ask(
            cmd,
            dict[str, Any],
            seed=seed,
            accounting=network.accounting,
            ports=list(ports),
            **sides,
            **more,
        )

    def passthrough(self) -> None:
        """Forward packets at once, without emulation. This is the state between visits."""
        self._process.ask("passthrough", dict[str, Any])

    def report(self) -> LinkReport:
        """Return the counters since the last `configure` or `passthrough`."""
        return self._process.ask("stats", LinkReport)

    def unshaped(self) -> Mapping[Side, UnshapedTraffic]:
        """Return the packets that passed the link without emulation, since `configure`."""
        stats = self._process.ask("stats", _Stats)
        return {
            "down": stats.down.unshaped or UnshapedTraffic(),
            "up": stats.up.unshaped or UnshapedTraffic(),
        }


class _Side(Struct):
    unshaped: UnshapedTraffic | None


class _Stats(Struct):
    up: _Side
    down: _Side


def _steps(network: Network, addresses: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return what the link becomes, in its format: a step for each phase after the first."""
    return [
        {
            "t_ms": phase.start_ms,
            **{
                side: _wired(phase.direction(side), addresses) | {"outage": side in phase.out}
                for side in STAGES
            },
            **{f"drops_{side}": side in phase.drops for side in STAGES},
            "rebind": (
                {"what": phase.rebind, "drops_tcp": phase.drops_tcp} if phase.rebind else None
            ),
        }
        for phase in network.phases[1:]
    ]


def _wired(direction: Direction, addresses: Mapping[str, str]) -> dict[str, Any]:
    """Return the direction in the link's format, with addresses instead of host names."""
    fields: dict[str, Any] = msgspec.to_builtins(direction)
    if direction.delay_trace:
        played = direction.delay_trace.turned(direction.trace_offset_ms)
        fields["delay_trace"] = msgspec.to_builtins(played)
    try:
        fields["hosts"] = [
            {"address": addresses[p.host], "delay_ms": p.delay_ms, "loss": p.loss}
            for p in direction.hosts
        ]
    except KeyError as error:
        raise TestbedError(f"the network names {error.args[0]}, which no page here has") from None
    return fields


@contextlib.contextmanager
def emulated_link(
    spaces: Namespaces,
    errors: Path,
    addresses: Mapping[str, str] = MappingProxyType({}),
    ends: tuple[str, str] = ("client", "origin"),
) -> Iterator[Link]:
    """Run the link between two interfaces of the link namespace, the client's end first.

    The link's stderr goes to the file `errors`. `addresses` are those of the hosts that a network
    may name. If the environment has `EXACT_TIMERS`, the link relies on timers to fire in time.
    """
    argv = [program("dragstrip-link"), "--client", ends[0], "--origin", ends[1]]
    if os.environ.get(EXACT_TIMERS):
        argv.append("--exact-timers")
    with json_process("dragstrip-link", spaces.command("link", *argv), errors) as process:
        yield Link(process, addresses)
