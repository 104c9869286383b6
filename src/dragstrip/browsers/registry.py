"""Registers all browsers that can be driven, by their names in a stack."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from dragstrip.browsers.chromium import chromium, chromium_version, stack_flags
from dragstrip.browsers.chromium53.browser import chromium53, host_lines
from dragstrip.browsers.driven import Driven
from dragstrip.browsers.firefox.browser import firefox, firefox_version, told
from dragstrip.browsers.loader.client import loader, loader_version
from dragstrip.browsers.loader.client import told as told_loader
from dragstrip.model.browsers import BROWSERS, FIREFOX, LOADER, TODAY, is_path
from dragstrip.model.names import Transport
from dragstrip.model.stack import Protocol, Stack
from dragstrip.model.study import Client
from dragstrip.testbed.testbed import Testbed

BrowserSettings = tuple[str, ...]
"""Settings that start the browser for a stack, such as command line flags."""


@dataclass(frozen=True)
class BrowserKind:
    start: Callable[
        [Testbed, Client, Protocol, BrowserSettings, Path | None], AbstractContextManager[Driven]
    ]
    """Starts the browser restricted to one protocol. The path is for the browser's log."""
    told: Callable[[Stack, Mapping[str, str], Mapping[str, str], Transport], BrowserSettings]
    """Returns the settings for a stack, the addresses of the testbed's hosts, a page's recorded
    protocols by host, and how to ask for names. Stacks with equal settings share a browser."""
    version: Callable[[], str]
    """Returns the browser's name and version. Raises `TestbedError` if the browser is missing."""


def _chromium(name: str) -> BrowserKind:
    def start(
        bed: Testbed, client: Client, protocol: Protocol, told: BrowserSettings, log: Path | None
    ) -> AbstractContextManager[Driven]:
        return chromium(bed, protocol, client, told, log, browser=name)

    return BrowserKind(start, stack_flags, lambda: chromium_version(name))


def _chromium53(
    bed: Testbed, client: Client, protocol: Protocol, told: BrowserSettings, log: Path | None
) -> AbstractContextManager[Driven]:
    return chromium53(bed, client, told)


def _firefox(
    bed: Testbed, client: Client, protocol: Protocol, told: BrowserSettings, log: Path | None
) -> AbstractContextManager[Driven]:
    return firefox(bed, protocol, client, told)


def _loader(
    bed: Testbed, client: Client, protocol: Protocol, told: BrowserSettings, log: Path | None
) -> AbstractContextManager[Driven]:
    return loader(bed, client, told)


_KINDS: Mapping[str, BrowserKind] = {
    **{name: _chromium(name) for name in BROWSERS},
    "chromium53": BrowserKind(_chromium53, host_lines, lambda: chromium_version("chromium53")),
    FIREFOX: BrowserKind(_firefox, told, firefox_version),
    LOADER: BrowserKind(_loader, told_loader, loader_version),
}


def kind_of(browser: str) -> BrowserKind:
    """Return the kind of a browser, given its name or the path of the user's own Chromium."""
    return _chromium(browser) if is_path(browser) else _KINDS[browser]


def browser_version(browser: str = TODAY) -> str:
    """Return the browser's name and version, such as ``Chromium 156.0.8078.79``. Raises
    `TestbedError`."""
    return kind_of(browser).version()
