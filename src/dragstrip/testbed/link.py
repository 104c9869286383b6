"""The emulated link as a running process. The protocol is docs/reference/processes.md."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from dragstrip.model.network import Network
from dragstrip.model.visit import LinkReport
from dragstrip.testbed.namespaces import Namespaces
from dragstrip.testbed.process import JsonProcess, json_process
from dragstrip.testbed.programs import program


class Link:
    """Made by `emulated_link`."""

    def __init__(self, process: JsonProcess) -> None:
        self._process = process
        self.realtime: bool = bool(process.greeting.get("realtime", False))

    def configure(self, network: Network, seed: int) -> None:
        """Become `network` with this random stream; forgets packets and counters."""
        self._process.ask(
            "configure",
            dict[str, Any],
            seed=seed,
            up=msgspec.to_builtins(network.up),
            down=msgspec.to_builtins(network.down),
        )

    def passthrough(self) -> None:
        """Forward at once, between visits."""
        self._process.ask("passthrough", dict[str, Any])

    def report(self) -> LinkReport:
        """Counters since `configure` or `passthrough`."""
        return self._process.ask("stats", LinkReport)


@contextlib.contextmanager
def emulated_link(spaces: Namespaces, errors: Path) -> Iterator[Link]:
    """Run the link between the `client` and `origin` interfaces of the link namespace.

    What it says on stderr goes to the file `errors`.
    """
    argv = [program("dragstrip-link"), "--client", "client", "--origin", "origin"]
    with json_process("dragstrip-link", spaces.command("link", *argv), errors) as process:
        yield Link(process)
