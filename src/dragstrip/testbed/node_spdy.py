"""node-spdy's codec (npm spdy-transport, with a server of ours in legacy/spdy-origin) before the
origin's content path: SPDY/3.1, HTTP/2 and HTTP/1.1 over TLS 1.2.

It speaks TLS and HTTP with certificates of the throw-away CA and asks the origin over a Unix socket
for every answer. It has addresses of its own, so that the origin's stay the origin's and a browser
which knows nothing but a hosts file can be led to either.
"""

import contextlib
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, structs

from dragstrip.model.stack import Stack
from dragstrip.model.visit import Connection, Served
from dragstrip.testbed import inherit
from dragstrip.testbed.errors import TestbedError
from dragstrip.testbed.legacy.catalogue import installed
from dragstrip.testbed.namespaces import Namespaces
from dragstrip.testbed.origin import OriginLog
from dragstrip.testbed.process import JsonProcess, json_process

PORT = 443
_BESIDE = 1 << 16
"""From a host's address at the origin to its address here."""


class _Connections(Struct, frozen=True, kw_only=True):
    connections: tuple[Connection, ...]


def addresses_beside(addresses: Mapping[str, str]) -> dict[str, str]:
    """Where this server answers for the origin's hosts."""
    return {host: str(IPv4Address(ip) + _BESIDE) for host, ip in addresses.items()}


@dataclass(frozen=True)
class Front:
    """What it answers for, and where it asks."""

    folder: Path
    """Not there yet."""
    plain: Path
    """The origin's Unix socket."""
    addresses: Mapping[str, str]
    """The origin's address of each host."""
    certificates: Mapping[str, Mapping[str, str]]
    """`certificate` and `key`, PEM, by host."""


class NodeSpdy:
    """Starts at once and stays: a process that is fresh for each visit would be a cold one."""

    def __init__(self, spaces: Namespaces, front: Front) -> None:
        """Raises `TestbedError` where it is not installed."""
        server = installed("spdy-origin")
        if not shutil.which("node"):
            raise TestbedError("node is missing: apt-get install nodejs, or race other stacks")
        front.folder.mkdir()
        hosts = {address: host for host, address in addresses_beside(front.addresses).items()}
        mine = list(hosts)
        spaces.configure("origin", [f"addr add {address}/32 dev lo" for address in mine])
        config = front.folder / "config.json"
        wish = {
            "plain": str(front.plain),
            "sockets": len(mine),
            "hosts": hosts,
            "certificates": front.certificates,
        }
        config.write_bytes(msgspec.json.encode(wish))
        argv = [sys.executable, "-I", inherit.__file__, str(PORT), *mine]
        argv += ["--", "node", str(server), str(config)]
        self._running = contextlib.ExitStack()
        self._process: JsonProcess = self._running.enter_context(
            json_process(
                "spdy-origin", spaces.command("origin", *argv), front.folder / "stderr.txt"
            )
        )

    def tune(self, stack: Stack) -> None:
        """Hold connections accepted from now on to the stack. Its TLS is 1.2, see `Stack`."""
        self._process.ask(
            "tune", dict[str, Any], protocol=stack.protocol, resumption=stack.resumption
        )

    def close(self) -> None:
        """Close every connection; session tickets stay good."""
        self._process.ask("close", dict[str, Any])

    def connections(self) -> tuple[Connection, ...]:
        """Connections that belong to the next `log`, as they stand now."""
        return self._process.ask("connections", _Connections).connections

    def log(self, behind: OriginLog) -> OriginLog:
        """What was asked for and connected since the last call.

        How the recording answered is the word of `behind`, what the origin saw of the same
        requests: it depends on method and URL alone.
        """
        told = self._process.ask("log", OriginLog)
        matches = {(s.method, s.url): s.match for s in behind.requests}

        def matched(served: Served) -> Served:
            match = matches.get((served.method, served.url), "miss")
            return structs.replace(served, match=match)

        return OriginLog(
            requests=tuple(matched(s) for s in told.requests),
            connections=told.connections,
            cpu_s=(told.cpu_s or 0.0) + (behind.cpu_s or 0.0),
        )

    def stop(self) -> None:
        self._running.close()
