"""The interface of a browser for visits. docs/howto/add-a-browser.md explains how to add one."""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from dragstrip.browsers.exchanges import Exchange
from dragstrip.browsers.load import Load
from dragstrip.model.page import Page
from dragstrip.model.study import Client


class Tab(Protocol):
    """A tab that begins empty and without any state. Every method may raise `BrowserError`."""

    def load(self, url: str) -> Load:
        """Go to `url` and watch until it counts as loaded, plus the client's quiet time. The tab's
        page counts as loaded by `Page.done`, other URLs at the load event. A load that fails or
        does not end in time is a result, not an exception; its `Load` holds what was seen so
        far."""

    def slowdown(self) -> float | None:
        """Return how many times longer a fixed script takes in the tab's page than it would without
        the client's slow-down; None if the client is not slowed down here."""

    def forget_cache(self, announced: Iterable[str] = (), pages: Iterable[str] = ()) -> None:
        """Make the next load fetch everything again. The tab keeps its TLS tickets, and still knows
        the Alt-Svc of the hosts in `announced`. It may request these hosts again to learn their
        Alt-Svc, from the sites of the URLs in `pages`: browsers remember it for each site."""

    def with_digests(self, exchanges: Iterable[Exchange], seed: int) -> tuple[Exchange, ...]:
        """Return the exchanges. Those in a sample also get the digest of the body that arrived."""


class Driven(Protocol):
    """A running browser, which speaks only one protocol."""

    @property
    def key_log(self) -> Path | None:
        """File with the TLS secrets of all the browser's visits; None if the browser writes
        none."""

    @property
    def itself(self) -> str:
        """The browser's product, version and start mode, as the browser reports them."""

    def cpu_s(self) -> dict[int, float]:
        """Return the CPU seconds of each of the browser's processes, by process id."""

    def proxies(self) -> tuple[str, ...]:
        """Return the environment variables of the browser's processes that name a proxy."""

    def fresh_tab(self, client: Client, page: Page | None = None) -> AbstractContextManager[Tab]:
        """Return a tab for loads of `page`; None stands for any URL. If the client pins time,
        scripts see the time of the recording."""
