"""Servers of ours that serve old protocols, beside the origin and with the same control commands.

Each is a program of the catalogue (`dragstrip.testbed.legacy`) with a port of its own on every
address of the origin, certificates of the same throw-away CA, and the same recording. The browser's
resolver leads to its port, so URLs and hosts stay as they are.
"""

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec

from dragstrip.model.page import Page
from dragstrip.model.servers import Server
from dragstrip.testbed.legacy.catalogue import installed
from dragstrip.testbed.namespaces import Namespaces
from dragstrip.testbed.origin import Origin, OriginLog
from dragstrip.testbed.process import json_process

PORTS: Mapping[Server, int] = {"gquic-origin": 8444}
"""The origin has 443 and Caddy 8443."""


class SecondOrigin:
    """Runs until `stop`."""

    def __init__(
        self,
        server: Server,
        behind: Origin,
        spaces: Namespaces,
        folder: Path,
        addresses: Mapping[str, str],
    ) -> None:
        """Raises `TestbedError` if it is not installed or does not start."""
        program = installed(server)
        certificates = folder / f"{server}.json"
        certificates.write_bytes(msgspec.json.encode(behind.chains(list(addresses))))
        argv = [str(program), "--certificates", str(certificates), "--port", str(PORTS[server])]
        argv += ["--addresses", ",".join(addresses.values())]
        self._resources = ExitStack()
        self._process = self._resources.enter_context(
            json_process(server, spaces.command("origin", *argv), folder / f"{server}.err")
        )
        self.stop = self._resources.close

    def serve(self, page: Page, *, think: bool = False) -> None:
        self._process.ask("page", dict[str, Any], path=str(page.path.absolute()), think=think)

    def close(self) -> None:
        """Close every connection; what lets clients resume stays good."""
        self._process.ask("close", dict[str, Any])

    def log(self) -> OriginLog:
        return self._process.ask("log", OriginLog)
