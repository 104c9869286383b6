"""Our servers for old protocols. The servers run next to the origin and obey the same control
commands.

Each is a program of the catalogue (`dragstrip.testbed.legacy`) with its own port on every address
of the origin, certificates of the same throw-away CA, and the same recording. The browser's
resolver leads to its port, so URLs and hosts stay as they are.
"""

from contextlib import ExitStack
from typing import Any

import msgspec
from msgspec import structs

from dragstrip.model.page import Page
from dragstrip.model.servers import Server
from dragstrip.model.stack import Stack
from dragstrip.model.visit import Connection
from dragstrip.testbed.legacy.catalogue import installed
from dragstrip.testbed.process import json_process
from dragstrip.testbed.servers.origin import OriginLog
from dragstrip.testbed.servers.site import ServerSite, port_of


class SecondOrigin:
    """A second server that runs until `stop`. It has no settings; `Stack` refuses stacks that need
    settings."""

    def __init__(self, server: Server, site: ServerSite) -> None:
        """Start the server. Raises `TestbedError` if it is not installed or does not start."""
        program = installed(server.item)
        site.folder.mkdir()
        certificates = site.folder / "certificates.json"
        certificates.write_bytes(msgspec.json.encode(site.origin.chains(list(site.addresses))))
        argv = [str(program), "--certificates", str(certificates), "--port", str(port_of(server))]
        argv += ["--addresses", ",".join(dict.fromkeys(site.addresses.values()))]
        self._resources = ExitStack()
        command = site.spaces.command("origin", *argv)
        errors = site.folder / "stderr.txt"
        self._process = self._resources.enter_context(json_process(server.name, command, errors))
        self.stop = self._resources.close

    def serve(self, page: Page, *, think: bool) -> None:
        self._process.ask("page", dict[str, Any], path=str(page.path.absolute()), think=think)

    def tune(self, stack: Stack, rtt_ms: float) -> None:
        pass

    def look(self) -> None:
        pass

    def close(self) -> None:
        self._process.ask("close", dict[str, Any])

    def connections(self) -> tuple[Connection, ...]:
        return ()

    def log(self, behind: OriginLog) -> OriginLog:
        """Return the logs of this server and of the origin together, so that requests which reached
        the origin by mistake are included."""
        told = self._process.ask("log", OriginLog)
        return structs.replace(
            told,
            requests=(*behind.requests, *told.requests),
            connections=(*behind.connections, *told.connections),
        )
