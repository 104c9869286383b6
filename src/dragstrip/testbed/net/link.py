"""The emulated link as a running process. docs/reference/processes.md describes its protocol."""

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from dragstrip.model.effects import Direction
from dragstrip.model.network import Network
from dragstrip.model.visit import LinkReport
from dragstrip.testbed.errors import TestbedError
from dragstrip.testbed.net.namespaces import Namespaces
from dragstrip.testbed.process import JsonProcess, json_process
from dragstrip.testbed.programs import program

EXACT_TIMERS = "DRAGSTRIP_EXACT_TIMERS"
"""Environment variable that is set if timers fire exactly when due, as in a guest in virtual
time."""


class Link:
    """The running link, which `emulated_link` starts."""

    def __init__(self, process: JsonProcess, addresses: Mapping[str, str]) -> None:
        self._process = process
        self.addresses = addresses
        """Addresses of the hosts that a network may name."""
        self.realtime: bool = bool(process.greeting.get("realtime", False))

    def configure(self, network: Network, seed: int, record: Path | None = None) -> None:
        """Emulate `network` with random numbers from `seed`. Packets and counters are reset.

        The fate of every packet is written to `record` (``.csv`` or ``.pcapng``), which is complete
        after the next `configure` or `passthrough`. Raises `TestbedError`.
        """
        self._process.ask(
            "configure",
            dict[str, Any],
            seed=seed,
            up=_wired(network.up, self.addresses),
            down=_wired(network.down, self.addresses),
            accounting=network.accounting,
            record=None if record is None else str(record),
        )

    def passthrough(self) -> None:
        """Forward packets at once, without emulation, between visits."""
        self._process.ask("passthrough", dict[str, Any])

    def report(self) -> LinkReport:
        """Counters since the last `configure` or `passthrough`."""
        return self._process.ask("stats", LinkReport)


def _wired(direction: Direction, addresses: Mapping[str, str]) -> dict[str, Any]:
    """The direction in the link's format, with addresses instead of host names."""
    fields: dict[str, Any] = msgspec.to_builtins(direction)
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
    spaces: Namespaces, errors: Path, addresses: Mapping[str, str] = MappingProxyType({})
) -> Iterator[Link]:
    """Run the link between the `client` and `origin` interfaces of the link namespace.

    Its stderr goes to the file `errors`. `addresses` are those of the hosts that a network may
    name. If the environment has `EXACT_TIMERS`, the link relies on timers to fire in time.
    """
    argv = [program("dragstrip-link"), "--client", "client", "--origin", "origin"]
    if os.environ.get(EXACT_TIMERS):
        argv.append("--exact-timers")
    with json_process("dragstrip-link", spaces.command("link", *argv), errors) as process:
        yield Link(process, addresses)
