"""Watching one tab while a page loads: what the loads of every browser share."""

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable

from dragstrip.browsers.cdp import Cdp, Event
from dragstrip.browsers.exchanges import Exchange
from dragstrip.model.study import Client
from dragstrip.model.visit import Outcome, Request


class TabWatch(ABC):
    """Sorts one tab's events: network events are kept, the rest steer the load."""

    def __init__(self, cdp: Cdp) -> None:
        self.cdp = cdp
        self.network: list[Event] = []
        self.error = ""

    @property
    @abstractmethod
    def loaded(self) -> bool:
        """Whether the page has fired its load event."""

    @abstractmethod
    def sort(self, event: Event) -> None:
        """Take in one event."""

    def ended(self) -> bool:
        """Whether the page has loaded or failed."""
        return self.loaded or bool(self.error)

    def take(self) -> None:
        while self.cdp.events:
            self.sort(self.cdp.events.popleft())

    def until_ended(self, client: Client) -> None:
        """Watch until the page has loaded or failed, or its time is up."""
        deadline = time.monotonic() + client.timeout_s
        while not self.ended() and self.cdp.pump(deadline):
            self.take()

    def through_quiet(self, client: Client) -> None:
        """Watch on for the client's quiet time, if the page has loaded."""
        deadline = time.monotonic() + client.quiet_ms / 1000
        while self.loaded and self.cdp.pump(deadline):
            self.take()

    @property
    def outcome(self) -> Outcome:
        return "loaded" if self.loaded else "failed" if self.error else "timeout"


def document_of(exchanges: Iterable[Exchange]) -> Request | None:
    """The request that brought the document: the first that is no redirect."""
    documents = (e.request for e in exchanges if e.request.resource_type == "Document")
    return next((d for d in documents if d.status and not 300 <= d.status < 400), None)
