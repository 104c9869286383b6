"""Watches the only tab of a browser whose DevTools lack much of today's Chromium's.

Such a browser's load ends with the load event. Only its requests show that a document failed, and
when the document's handshake and first byte were.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

from msgspec import structs

from dragstrip.browsers.cdp import Cdp, Event
from dragstrip.browsers.devtools_watch import DevToolsWatch
from dragstrip.browsers.exchanges import ABORTED, Exchange, failure
from dragstrip.browsers.load import LOADED, Navigation
from dragstrip.browsers.watch import document_of


def with_document(
    navigation: Navigation, documents: Sequence[str], seen: Sequence[Exchange]
) -> Navigation:
    """Return the navigation with the handshake and the first byte of the last document."""
    moved = len(documents) > 1
    document = document_of(e for e in seen if not moved or e.request.url == documents[-1])
    return structs.replace(
        navigation,
        connectStart=(document and document.connect_start_ms) or 0.0,
        responseStart=(document and document.response_start_ms) or 0.0,
    )


class OnlyTabWatch(DevToolsWatch):
    """Watches the only tab of a browser."""

    wall: ClassVar[str] = "wallTime"
    """What the browser calls Unix time in a request's event."""

    def __init__(self, cdp: Cdp) -> None:
        super().__init__(cdp, LOADED)
        self._document = ""
        self.clock_offset_s = 0.0
        """Unix time minus the clock of the events' timestamps, from the first request."""

    def ask(self, expression: str) -> int:
        raise NotImplementedError("this browser waits for the load event alone")

    def answer_of(self, number: int) -> object:
        raise NotImplementedError("this browser waits for the load event alone")

    def why_failed(self, params: dict[str, Any]) -> str:
        """Return why a request failed, from its `loadingFailed` event."""
        return failure(params)

    def sort(self, event: Event) -> None:
        if event.method.startswith("Network."):
            self._sort_network(event)
        elif event.method == "Page.frameNavigated":
            if not self.error:  # otherwise this is the browser's error page
                self.commits(event.params["frame"])
        elif event.method == "Page.loadEventFired":
            self.fires()

    def _sort_network(self, event: Event) -> None:
        params = event.params
        self.network.append(event)
        if event.method == "Network.requestWillBeSent":
            if not self._document:
                self._document = params["requestId"]
                self.clock_offset_s = params[self.wall] - params["timestamp"]
            if params.get("type") == "Document":
                self.asks(params)
        elif event.method in ("Network.loadingFinished", "Network.loadingFailed"):
            if event.method == "Network.loadingFailed":
                self._fail(params)
            self.stays(params["requestId"])

    def _fail(self, params: dict[str, Any]) -> None:
        why = self.why_failed(params)
        if not self.committed and params["requestId"] == self._document:
            self.error = why
        elif params["requestId"] in self._leaving and why != ABORTED:
            self.error = f"the page moved on, which failed: {why}"
