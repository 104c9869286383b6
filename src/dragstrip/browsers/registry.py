"""Every browser that can be driven, by its name in a stack."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from dragstrip.browsers.chromium import chromium, stack_flags
from dragstrip.browsers.chromium53 import chromium53, host_lines
from dragstrip.browsers.driven import Driven
from dragstrip.model.browsers import Browser
from dragstrip.model.stack import Protocol, Stack
from dragstrip.model.study import Client
from dragstrip.testbed.testbed import Testbed

Told = tuple[str, ...]
"""What a browser must be told of a stack when it starts, in words of its own."""


@dataclass(frozen=True)
class Kind:
    start: Callable[[Testbed, Client, Protocol, Told, Path | None], AbstractContextManager[Driven]]
    """Starts it so that it speaks this protocol and no other; the path is for its own log."""
    told: Callable[[Stack, Mapping[str, str]], Told]
    """Of a stack and the addresses of the testbed's hosts; who is told the same is the same."""


def _chromium(browser: Browser) -> Kind:
    def start(
        bed: Testbed, client: Client, protocol: Protocol, told: Told, log: Path | None
    ) -> AbstractContextManager[Driven]:
        return chromium(bed, protocol, client, told, log, browser=browser)

    return Kind(start, stack_flags)


def _chromium53(
    bed: Testbed, client: Client, protocol: Protocol, told: Told, log: Path | None
) -> AbstractContextManager[Driven]:
    return chromium53(bed, client, told)


BROWSERS: Mapping[Browser, Kind] = {
    **{name: _chromium(name) for name in get_args(Browser)},
    "chromium53": Kind(_chromium53, host_lines),
}
