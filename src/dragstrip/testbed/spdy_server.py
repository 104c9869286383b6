"""Servers with SPDY/3.1, HTTP/2 and HTTP/1.1 over TLS 1.2 before the origin's content path, by
codecs that are not ours: node-spdy's (legacy/spdy-origin) and Netty's (legacy/netty-origin).

They speak TLS and HTTP with certificates of the throw-away CA and ask the origin over a Unix socket
for every answer. Each has addresses of its own, so that the origin's stay the origin's and a
browser which knows nothing but a hosts file can be led to any of them.
"""

import contextlib
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, structs

from dragstrip.model.servers import Server
from dragstrip.model.stack import Stack
from dragstrip.model.visit import Connection, Served
from dragstrip.testbed import inherit
from dragstrip.testbed.errors import TestbedError
from dragstrip.testbed.legacy.catalogue import installed
from dragstrip.testbed.namespaces import Namespaces
from dragstrip.testbed.origin import OriginLog
from dragstrip.testbed.process import JsonProcess, json_process

PORT = 443
_NETWORK = 1 << 16


def _node(program: Path, config: Path, addresses: Sequence[str]) -> list[str]:
    inherited = [sys.executable, "-I", inherit.__file__, str(PORT), *addresses]
    return [*inherited, "--", "node", str(program), str(config)]


def _java(program: Path, config: Path, addresses: Sequence[str]) -> list[str]:
    folder = program.parent
    classes = f"{folder}:{folder}/*"
    return ["java", f"@{folder / 'java.options'}", "-cp", classes, program.stem, str(config)]


@dataclass(frozen=True)
class _Program:
    item: str
    """Of the catalogue."""
    interpreter: str
    package: str
    """Debian's, of the interpreter."""
    beside: int
    """From a host's address at the origin to its address here."""
    command: Callable[[Path, Path, Sequence[str]], list[str]]
    """Starts the program with its configuration, to listen on these addresses."""
    warm_up_requests: int = 0
    """Of each protocol, over loopback, before it serves a visit."""


_PROGRAMS: Mapping[Server, _Program] = {
    "node-spdy": _Program("spdy-origin", "node", "nodejs", _NETWORK, _node),
    "netty": _Program(
        "netty-origin",
        "java",
        "openjdk-17-jre-headless",
        2 * _NETWORK,
        _java,
        warm_up_requests=4000,  # decision 21
    ),
}
_WARM_UP_STEP = 500
"""So many requests stay far below what a command may take."""


def is_spdy_server(server: Server) -> bool:
    return server in _PROGRAMS


def addresses_of(server: Server, addresses: Mapping[str, str]) -> dict[str, str]:
    """Where `server` answers for hosts whose addresses at the origin are given."""
    beside = _PROGRAMS[server].beside if server in _PROGRAMS else 0
    return {host: str(IPv4Address(ip) + beside) for host, ip in addresses.items()}


class _Connections(Struct, frozen=True, kw_only=True):
    connections: tuple[Connection, ...]


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


class SpdyServer:
    """Starts at once and stays: a process that is fresh for each visit would be a cold one."""

    def __init__(self, server: Server, spaces: Namespaces, front: Front) -> None:
        """Raises `TestbedError` where it is not installed."""
        asked = self._program = _PROGRAMS[server]
        self._warm: set[str] = set()
        program = installed(asked.item)
        if not shutil.which(asked.interpreter):
            raise TestbedError(
                f"{asked.interpreter} is missing: apt-get install {asked.package}, or race other "
                "stacks"
            )
        front.folder.mkdir()
        hosts = {ip: host for host, ip in addresses_of(server, front.addresses).items()}
        spaces.configure("origin", [f"addr add {ip}/32 dev lo" for ip in hosts])
        config = front.folder / "config.json"
        wish = {
            "plain": str(front.plain),
            "sockets": len(hosts),
            "hosts": hosts,
            "certificates": front.certificates,
        }
        config.write_bytes(msgspec.json.encode(wish))
        command = spaces.command("origin", *asked.command(program, config, list(hosts)))
        self._running = contextlib.ExitStack()
        self._process: JsonProcess = self._running.enter_context(
            json_process(asked.item, command, front.folder / "stderr.txt")
        )

    def tune(self, stack: Stack) -> None:
        """Hold connections accepted from now on to the stack. Its TLS is 1.2, see `Stack`."""
        self._process.ask(
            "tune", dict[str, Any], protocol=stack.protocol, resumption=stack.resumption
        )
        if stack.protocol not in self._warm:
            for _ in range(0, self._program.warm_up_requests, _WARM_UP_STEP):
                self._process.ask("warm_up", dict[str, Any], requests=_WARM_UP_STEP)
            self._warm.add(stack.protocol)

    def close(self) -> None:
        """Close every connection; session tickets stay good."""
        self._process.ask("close", dict[str, Any])

    def connections(self) -> tuple[Connection, ...]:
        """Connections that belong to the next `log`, as they stand now."""
        return self._process.ask("connections", _Connections).connections

    def log(self, behind: OriginLog) -> OriginLog:
        """What was asked for and connected since the last call.

        How the recording answered, and with which body, is the word of `behind`, what the origin
        saw of the same requests: it depends on method and URL alone.
        """
        told = self._process.ask("log", OriginLog)
        origins = {(s.method, s.url): s for s in behind.requests}

        def matched(served: Served) -> Served:
            asked = origins.get((served.method, served.url))
            if not asked:
                return structs.replace(served, match="miss")
            return structs.replace(served, match=asked.match, digest=asked.digest)

        return OriginLog(
            requests=tuple(matched(s) for s in told.requests),
            connections=told.connections,
            cpu_s=(told.cpu_s or 0.0) + (behind.cpu_s or 0.0),
        )

    def stop(self) -> None:
        self._running.close()
