"""Runs servers for SPDY/3.1, HTTP/2 and HTTP/1.1 over TLS 1.2, based on other projects' codecs:
node-spdy (legacy/spdy-origin) and Netty (legacy/netty-origin).

They speak TLS and HTTP with certificates of the throw-away CA and ask the origin over a Unix socket
for every answer. Each server has its own addresses, so that a hosts file alone can direct a browser
to it.
"""

import contextlib
import shutil
import sys
from typing import Any

import msgspec
from msgspec import Struct, structs

from dragstrip.model.page import Page
from dragstrip.model.servers import Server
from dragstrip.model.stack import Stack
from dragstrip.model.visit import Connection, Served
from dragstrip.testbed.errors import TestbedError
from dragstrip.testbed.legacy.catalogue import installed
from dragstrip.testbed.net.wires import host_range
from dragstrip.testbed.process import JsonProcess, json_process
from dragstrip.testbed.servers import inherit
from dragstrip.testbed.servers.origin import OriginLog
from dragstrip.testbed.servers.site import ServerSite, addresses_of
from dragstrip.testbed.servers.template import arguments

_WARM_UP_STEP = 500
"""Requests per command, far fewer than one command is allowed to make."""


class _Connections(Struct, frozen=True, kw_only=True):
    connections: tuple[Connection, ...]


class Codec:
    """A server that starts at once and keeps running, because a fresh process for each visit would
    be cold."""

    def __init__(self, server: Server, site: ServerSite) -> None:
        """Prepare the server. Raises `TestbedError` if it is not installed."""
        self._server = server
        self._warm: set[str] = set()
        program = installed(server.item)
        for needed, package in server.needs.items():
            if not shutil.which(needed):
                raise TestbedError(
                    f"{needed} is missing: apt-get install {package}, or race other stacks"
                )
        site.folder.mkdir()
        hosts: dict[str, str] = {}  # one host per address is enough: TLS names the host
        for host, ip in addresses_of(server, site.addresses).items():
            hosts.setdefault(ip, host)
        site.spaces.configure("origin", [f"addr replace {host_range(ip)} dev lo" for ip in hosts])
        config = site.folder / "config.json"
        wish = {
            "plain": str(site.plain),
            "sockets": len(hosts),
            "hosts": hosts,
            "certificates": {h: pem for h, pem in site.certificates().items() if h},
        }
        config.write_bytes(msgspec.json.encode(wish))
        argv = arguments(
            server.command,
            addresses=list(hosts),
            config=str(config),
            home=str(program.parent),
            inherit=inherit.__file__,
            program=str(program),
            python=sys.executable,
            stem=program.stem,
        )
        self._running = contextlib.ExitStack()
        self._process: JsonProcess = self._running.enter_context(
            json_process(
                server.item,
                site.spaces.command("origin", *argv),
                site.folder / "stderr.txt",
            )
        )

    def serve(self, page: Page, *, think: bool) -> None:
        pass

    def tune(self, stack: Stack, rtt_ms: float) -> None:
        """Tune the server for a stack. The server's TLS is 1.2, see `Stack`."""
        self._process.ask(
            "tune", dict[str, Any], protocol=stack.protocol, resumption=stack.resumption
        )
        if stack.protocol not in self._warm:
            for _ in range(0, self._server.warm_up_requests, _WARM_UP_STEP):
                self._process.ask("warm_up", dict[str, Any], requests=_WARM_UP_STEP)
            self._warm.add(stack.protocol)

    def look(self) -> None:
        pass

    def close(self) -> None:
        self._process.ask("close", dict[str, Any])

    def connections(self) -> tuple[Connection, ...]:
        return self._process.ask("connections", _Connections).connections

    def log(self, behind: OriginLog) -> OriginLog:
        """Return the server's log. `behind` is the origin's log of the same requests. It says how
        the recording answered and with which body: both depend only on method and URL."""
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
