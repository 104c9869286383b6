"""Registers all browsers that can be driven, by their names in a stack."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from dragstrip.browsers.chromium import chromium, chromium_version, stack_flags
from dragstrip.browsers.chromium53.browser import chromium53, host_lines
from dragstrip.browsers.driven import Driven
from dragstrip.browsers.firefox.browser import firefox, firefox_version, stack_lines
from dragstrip.browsers.loader.client import loader, loader_version, stack_settings
from dragstrip.browsers.place import BrowserSettings, needs_every_root
from dragstrip.browsers.wpe.browser import wpe
from dragstrip.model.browsers import BROWSERS, FIREFOX, LOADER, TODAY, WPE, is_path
from dragstrip.model.names import Transport
from dragstrip.model.stack import Protocol, Stack
from dragstrip.model.study import Client
from dragstrip.testbed.testbed import Testbed
from dragstrip.testbed.wpe import version as wpe_version


@dataclass(frozen=True)
class BrowserKind:
    start: Callable[
        [Testbed, Client, Protocol, BrowserSettings, Path | None], AbstractContextManager[Driven]
    ]
    """Starts the browser restricted to one protocol. The path is for the browser's log."""
    lines: Callable[[Stack, Mapping[str, str], Mapping[str, str], Transport], tuple[str, ...]]
    """Returns `BrowserSettings.lines` for a stack, the addresses of the testbed's hosts, a page's
    recorded protocols by host, and how to ask for names."""
    version: Callable[[], str]
    """Returns the browser's name and version. Raises `TestbedError` if the browser is missing."""

    def settings(
        self,
        stack: Stack,
        addresses: Mapping[str, str],
        spoken: Mapping[str, str],
        ask: Transport = "none",
    ) -> BrowserSettings:
        """Return the settings with which the browser starts for a stack; see `lines`."""
        lines = self.lines(stack, addresses, spoken, ask)
        return BrowserSettings(lines, ask, needs_every_root(stack))


def _chromium(name: str) -> BrowserKind:
    def start(
        bed: Testbed, client: Client, protocol: Protocol, of: BrowserSettings, log: Path | None
    ) -> AbstractContextManager[Driven]:
        return chromium(
            bed,
            protocol,
            client,
            of.lines,
            log,
            browser=name,
            ask=of.ask,
            every_root=of.every_root,
        )

    return BrowserKind(start, stack_flags, lambda: chromium_version(name))


def _chromium53(
    bed: Testbed, client: Client, protocol: Protocol, of: BrowserSettings, log: Path | None
) -> AbstractContextManager[Driven]:
    return chromium53(bed, client, of.lines, every_root=of.every_root)


def _firefox(
    bed: Testbed, client: Client, protocol: Protocol, of: BrowserSettings, log: Path | None
) -> AbstractContextManager[Driven]:
    return firefox(bed, protocol, client, of.lines, ask=of.ask, every_root=of.every_root)


def _loader(
    bed: Testbed, client: Client, protocol: Protocol, of: BrowserSettings, log: Path | None
) -> AbstractContextManager[Driven]:
    return loader(bed, client, of.lines, every_root=of.every_root)


def _wpe(
    bed: Testbed, client: Client, protocol: Protocol, of: BrowserSettings, log: Path | None
) -> AbstractContextManager[Driven]:
    return wpe(bed, protocol, of.lines, every_root=of.every_root)


_KINDS: Mapping[str, BrowserKind] = {
    **{name: _chromium(name) for name in BROWSERS},
    "chromium53": BrowserKind(_chromium53, host_lines, lambda: chromium_version("chromium53")),
    FIREFOX: BrowserKind(_firefox, stack_lines, firefox_version),
    LOADER: BrowserKind(_loader, stack_settings, loader_version),
    WPE: BrowserKind(_wpe, host_lines, wpe_version),
}


def kind_of(browser: str) -> BrowserKind:
    """Return the kind of a browser, given its name or the path of the user's own Chromium."""
    return _chromium(browser) if is_path(browser) else _KINDS[browser]


def browser_version(browser: str = TODAY) -> str:
    """Return the browser's name and version, such as ``Chromium 156.0.8078.79``. Raises
    `TestbedError`."""
    return kind_of(browser).version()
