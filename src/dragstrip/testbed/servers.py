"""The far end of the link: our origin, and Caddy before it where a stack asks for that."""

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import structs

from dragstrip.model.page import Page
from dragstrip.model.stack import Stack
from dragstrip.model.visit import Connection
from dragstrip.testbed import caddy_log
from dragstrip.testbed.caddy import Caddy, Front
from dragstrip.testbed.namespaces import Namespaces
from dragstrip.testbed.origin import Origin, OriginLog, origin

PLAIN = "plain.sock"


class Servers:
    """Made by `servers`. The stack says who answers; Caddy starts when first asked for."""

    def __init__(
        self, behind: Origin, spaces: Namespaces, folder: Path, addresses: Mapping[str, str]
    ) -> None:
        self._origin = behind
        self._spaces = spaces
        self._folder = folder
        self._addresses = addresses
        self._caddy: Caddy | None = None
        self._before = False
        """Caddy stands before the origin."""
        self.ca: Path | None = behind.ca

    def serve(self, page: Page, *, think: bool = False) -> None:
        self._origin.serve(page, think=think)

    def tune(self, stack: Stack) -> None:
        self._before = stack.server == "caddy"
        if not self._before:
            self._origin.tune(stack)
            return
        if not self._caddy:
            self._caddy = Caddy(
                self._spaces,
                Front(
                    folder=self._folder / "caddy",
                    plain=self._folder / PLAIN,
                    addresses=tuple(self._addresses.values()),
                    certificates=self._origin.certificates(list(self._addresses)),
                ),
            )
        self._caddy.tune(stack)

    def close(self) -> None:
        if self._before and self._caddy:
            self._caddy.close()
        self._origin.close()

    def connections(self) -> tuple[Connection, ...]:
        return self._origin.connections()

    def log(self) -> OriginLog:
        told = self._origin.log()
        if not (self._before and self._caddy):
            return told
        lines = self._caddy.lines()
        return structs.replace(
            told,
            requests=caddy_log.requests(lines, told.requests),
            connections=caddy_log.connections(lines),
            cpu_s=None,
        )

    def stop(self) -> None:
        if self._caddy:
            self._caddy.stop()


@contextlib.contextmanager
def servers(spaces: Namespaces, folder: Path, addresses: Mapping[str, str]) -> Iterator[Servers]:
    """Run the origin, and whatever else the stacks will ask for, for these hosts."""
    with origin(spaces, folder, plain=folder / PLAIN) as behind:
        made = Servers(behind, spaces, folder, addresses)
        try:
            yield made
        finally:
            made.stop()
