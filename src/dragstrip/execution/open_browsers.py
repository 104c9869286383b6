"""Keeps a session's browsers open, and chooses the one that loads a page over a stack."""

import contextlib
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from dragstrip.browsers.driven import Driven
from dragstrip.browsers.place import BrowserSettings
from dragstrip.browsers.registry import kind_of
from dragstrip.model.browsers import TODAY
from dragstrip.model.errors import InputError
from dragstrip.model.names import Transport
from dragstrip.model.page import Page
from dragstrip.model.stack import Protocol, Stack
from dragstrip.model.study import Client
from dragstrip.model.visit import OF_BROWSERS
from dragstrip.testbed.testbed import Testbed

OpenBrowser = tuple[str, Protocol, BrowserSettings]
"""Name, protocol and settings of a browser. Visits for which all three are equal share a
browser."""
_MOST_OPEN = 8
"""Most open browsers per session. A Firefox takes about 400 MB; a guest has 6 GB."""


class OpenBrowsers:
    """One browser per protocol and settings, started when first needed.

    If too many are open, the least recently used one is closed, and `closed` is called with it.
    """

    def __init__(
        self,
        bed: Testbed,
        client: Client,
        resources: contextlib.ExitStack,
        artefacts: Path | None = None,
        *,
        closed: Callable[[OpenBrowser], None],
    ) -> None:
        self._bed = bed
        self._client = client
        self._resources = resources
        self._artefacts = artefacts
        self._closed = closed
        self._open: dict[OpenBrowser, tuple[Driven, contextlib.ExitStack]] = {}
        """Open browsers, least recently used first."""
        self._quic_flags: dict[str, BrowserSettings] = {}

    def needed(self, page: Page, stack: Stack, ask: Transport = "none") -> OpenBrowser:
        """Return which browser loads this page over this stack. `ask` says how it asks for
        names."""
        if page.live and stack.protocol == "h3":
            if page.url not in self._quic_flags:
                self._quic_flags[page.url] = self._where_quic_is(page)
            return stack.browser, "h3", self._quic_flags[page.url]
        kind = kind_of(stack.browser)
        settings = kind.settings(stack, self._bed.addresses, page.spoken, ask)
        return stack.browser, stack.protocol, settings

    def get(self, needed: OpenBrowser) -> Driven:
        """Return this browser; start it if it does not run. Raises `TestbedError`,
        `BrowserError`."""
        if needed in self._open:
            self._open[needed] = self._open.pop(needed)
            return self._open[needed][0]
        if len(self._open) >= _MOST_OPEN:
            self._close(next(iter(self._open)))
        stack = self._resources.enter_context(contextlib.ExitStack())
        self._open[needed] = stack.enter_context(self.started(needed)), stack
        return self._open[needed][0]

    def started(self, needed: OpenBrowser) -> contextlib.AbstractContextManager[Driven]:
        """Start a browser of this kind for one use; it is not kept open."""
        name, protocol, settings = needed
        log = self._net_log(protocol)
        return kind_of(name).start(self._bed, self._client, protocol, settings, log)

    def _close(self, browser: OpenBrowser) -> None:
        _, stack = self._open.pop(browser)
        stack.close()
        self._closed(browser)

    def _where_quic_is(self, page: Page) -> BrowserSettings:
        """Return settings that force QUIC on the hosts of a live page that support it.

        If QUIC were forced on every host, hosts without it would fail. Raises `InputError`.
        """
        self._bed.link.passthrough()
        with (
            kind_of(TODAY).start(self._bed, self._client, "h3", BrowserSettings(), None) as browser,
            browser.fresh_tab(self._client) as tab,
        ):
            tried = tab.load(page.url)
        hosts = {e.request.host for e in tried.exchanges if e.request.protocol == "h3"}
        if urlsplit(page.url).hostname not in hosts:
            raise InputError(f"{page.url} does not answer over HTTP/3; race it with other stacks")
        forced = ",".join(f"{host}:443" for host in sorted(hosts))
        return BrowserSettings((f"--origin-to-force-quic-on={forced}",))

    def _net_log(self, protocol: Protocol) -> Path | None:
        """Return the path for a NetLog. Each started browser has its own."""
        if not (self._artefacts and self._client.net_log):
            return None
        return self._artefacts / OF_BROWSERS / f"{protocol}-{time.time_ns() // 1_000_000}.json"
