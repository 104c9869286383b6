"""The interface that a visit needs of a browser. Adding one: docs/howto/add-a-browser.md."""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from dragstrip.browsers.exchanges import Exchange
from dragstrip.browsers.load import Load
from dragstrip.model.page import Page
from dragstrip.model.study import Client


class Tab(Protocol):
    """An empty tab without any state. Every method may raise `BrowserError`."""

    def load(self, url: str) -> Load:
        """Go to `url` and watch until it counts as loaded, plus the client's quiet time. The tab's
        page counts as loaded by `Page.done`, other URLs at the load event. A load that fails or
        does not end in time is an outcome, not an exception; it has what was seen until then."""

    def forget_cache(self, announced: Iterable[str] = ()) -> None:
        """Make the next load fetch everything again, with the tab's tickets. It still knows what
        the hosts `announced` said by Alt-Svc; it may ask them again for that."""

    def with_digests(self, exchanges: Iterable[Exchange], seed: int) -> tuple[Exchange, ...]:
        """The exchanges, a sample of them with the digest of the body that arrived."""


class Driven(Protocol):
    """A running browser, which speaks one protocol and no other."""

    @property
    def key_log(self) -> Path | None:
        """Where it writes the TLS secrets of all its visits; None if it does not."""

    @property
    def itself(self) -> str:
        """The browser's product, version and start mode, as it reports them."""

    def cpu_s(self) -> dict[int, float]:
        """CPU time of each of its processes, by process id."""

    def proxies(self) -> tuple[str, ...]:
        """Variables of its processes' environment that name a proxy."""

    def fresh_tab(self, client: Client, page: Page | None = None) -> AbstractContextManager[Tab]:
        """A tab for loads of `page`, if it is known. If the client pins time, scripts see the time
        of the recording."""
