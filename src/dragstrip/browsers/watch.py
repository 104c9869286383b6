"""Watches one tab while a page loads. All browsers share this module."""

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import TypeVar

from dragstrip.browsers.cdp import Cdp, Event
from dragstrip.browsers.errors import BrowserError
from dragstrip.browsers.exchanges import Exchange
from dragstrip.model.done import Done
from dragstrip.model.study import Client
from dragstrip.model.visit import Outcome, Request

IDLE_S = 0.5
"""Time in s without a request after which the network counts as idle, as in Playwright and
Puppeteer."""
_Read = TypeVar("_Read")
_REACHED = 'self[Symbol.for("dragstrip.done")]'
"""The promise that scripts/done_*.js defines."""


class TabWatch(ABC):
    """Sorts one tab's events: network events are kept, the other events steer the load."""

    def __init__(self, cdp: Cdp, done: Done) -> None:
        self.cdp = cdp
        self.network: list[Event] = []
        self.error = ""
        self.parsed = False
        """Whether the document has fired DOMContentLoaded."""
        self.reached_ms: float | None = None
        """Time in ms at which the condition `done` was met, as our script reports it; None
        before."""
        self._done = done
        self._asked: int | None = None
        self._under_way: set[str] = set()
        self._late: set[str] = set()
        self._stirred_s = time.monotonic()
        self._idle = False
        self._leaving: set[str] = set()
        """Navigations that the page began and that have brought no document yet."""
        self.documents: list[str] = []
        """URLs of the documents that the tab showed; several if the page navigated away."""

    @property
    @abstractmethod
    def fired(self) -> bool:
        """Whether the page has fired its load event."""

    @abstractmethod
    def sort(self, event: Event) -> None:
        """Handle one event."""

    @abstractmethod
    def ask(self, expression: str) -> int:
        """Ask the page for the value of a promise; return the command's number."""

    @abstractmethod
    def answer_of(self, number: int) -> object:
        """Return the page's answer to the command `number`. Raises `BrowserError`, for example if
        the document is gone."""

    @property
    def loaded(self) -> bool:
        """Whether the page counts as loaded. A page that is navigating away does not count as
        loaded."""
        if self._leaving or self.error:
            return False
        match self._done.kind:
            case "load":
                return self.fired
            case "network-idle":
                return self._idle
            case "selector" | "mark":
                return self.reached_ms is not None

    def begins(self, request: str) -> None:
        self._under_way.add(request)
        if self._idle:
            self._late.add(request)
        self._stirred_s = time.monotonic()

    def streams(self, request: str) -> None:
        """Record a request of an EventSource (HTML section 9.2). Its answer may never end, so no
        load waits for it."""
        self._late.add(request)

    def ends(self, request: str) -> None:
        self._under_way.discard(request)
        self._stirred_s = time.monotonic()

    def leaves(self, navigation: str) -> None:
        """Record that the page begins to navigate to another document."""
        self._leaving.add(navigation)

    def stays(self, navigation: str) -> None:
        """Record that a navigation brought no document but a download, or an answer without
        content."""
        self._leaving.discard(navigation)

    def arrives(self, url: str) -> None:
        """Record that another document has come. It has not met the condition `done` yet."""
        self._leaving.clear()
        self.documents.append(url)
        self.parsed = self._idle = False
        self.reached_ms = None
        self._late.clear()
        if self._done.kind in ("selector", "mark"):
            self._asked = self.ask(_REACHED)

    def parses(self) -> None:
        self.parsed = True
        self._stirred_s = time.monotonic()

    def ended(self) -> bool:
        """Return whether the page has loaded or failed."""
        if self._asked is not None and self.cdp.answered(self._asked):
            self._take_answer(self._asked)
        self._idle = self._idle or time.monotonic() >= self._idle_by()
        return self.loaded or bool(self.error)

    def take(self) -> None:
        while self.cdp.events:
            self.sort(self.cdp.events.popleft())

    def until_over(self, client: Client) -> None:
        """Watch until the page has loaded and the client's quiet time is over, or until it failed
        or its time is up. If the page navigates away in its quiet time, the load continues."""
        deadline = time.monotonic() + client.timeout_s
        while not self.ended() and time.monotonic() < deadline:
            self._until_ended(deadline)
            self.when_loaded()
            self._through_quiet(client)

    def read_at_end(self, client: Client, read: Callable[[], _Read]) -> _Read:
        """Return the result of `read` at the end of the load, see `until_over`. If another document
        comes meanwhile, the load continues, and `read` is called again at its end."""
        while True:
            self.until_over(client)
            documents = len(self.documents)
            found = read()
            self.take()
            if len(self.documents) == documents or self.error:
                return found
            self.go_on()

    def go_on(self) -> None:
        """Resume, because another document came after the end of the load."""
        return

    def when_loaded(self) -> None:
        """Called when the page has loaded or failed, before its quiet time."""
        return

    def _until_ended(self, deadline: float) -> None:
        while not self.ended() and time.monotonic() < deadline:
            waits = self._done.kind == "network-idle"
            self.cdp.pump(min(deadline, self._idle_by()) if waits else deadline)
            self.take()

    def _through_quiet(self, client: Client) -> None:
        deadline = time.monotonic() + client.quiet_ms / 1000
        while self.loaded and self.cdp.pump(deadline):
            self.take()

    def done_ms(
        self, load_event_ms: float, seen: Iterable[Exchange], parsed_ms: float, later_ms: float = 0
    ) -> float:
        """Return when the page counted as loaded, in ms since its first document began. Call this
        only for a loaded page. The page's last document began `later_ms` after the first."""
        if self.reached_ms is not None:
            return self.reached_ms + later_ms
        if self._done.kind == "load":
            return load_event_ms
        ends = (e.request.end_ms or 0.0 for e in seen if e.id not in self._late)
        return max([parsed_ms, *ends])

    @property
    def outcome(self) -> Outcome:
        return "loaded" if self.loaded else "failed" if self.error else "timeout"

    def _idle_by(self) -> float:
        """Return when the network will have been idle for `IDLE_S`, if no request begins."""
        return self._stirred_s + IDLE_S if self.parsed and not self._under_way else math.inf

    def _take_answer(self, number: int) -> None:
        self._asked = None
        try:
            found = self.answer_of(number)
        except BrowserError:
            return  # the page has navigated away: `arrives` asks again
        if isinstance(found, int | float):
            self.reached_ms = float(found)
        elif isinstance(found, str):
            raise BrowserError(f"done {self._done.kind}:{self._done.what}: {found}")


def document_of(exchanges: Iterable[Exchange]) -> Request | None:
    """Return the request that brought the document: the first one that is not a redirect."""
    documents = (e.request for e in exchanges if e.request.resource_type == "Document")
    return next((d for d in documents if d.status and not 300 <= d.status < 400), None)
