"""Makes one page load in WPE WebKit, as `dragstrip.browsers.load` does over DevTools.

The page's own timing has whole milliseconds, like Safari's. The document's handshake and first byte
come from its request, which counts in microseconds from the same start, rounded down. So they are
up to 1 ms too late.
"""

import time
from collections.abc import Sequence
from typing import Any

from msgspec import structs

from dragstrip.browsers.cdp import Event
from dragstrip.browsers.devtools_watch import DevToolsWatch
from dragstrip.browsers.exchanges import ABORTED, Exchange, exchanges
from dragstrip.browsers.load import (
    LOADED,
    READ_TIMINGS,
    Load,
    Navigation,
    NavigationTimings,
    began_before_ms,
    preludes,
    shifted,
    timings_of,
)
from dragstrip.browsers.watch import document_of
from dragstrip.browsers.wpe.exchanges import as_devtools, error_of
from dragstrip.browsers.wpe.inspector import Inspector
from dragstrip.model.study import Client

_WARM = "fetch('http://127.0.0.1:1/').then(() => 0, () => 0); 0"
"""A request to a closed port: WebKit starts the process that makes requests at the first one."""
_WARM_S = 5.0


def make_ready(page: Inspector, client: Client, recorded_ms: float | None) -> None:
    """Prepare the only page of a browser for observation. Raises `BrowserError`."""
    for domain in ("Network", "Page", "Runtime"):
        page.call(f"{domain}.enable")
    script = "\n".join(f"{{ {source} }}" for source in preludes(client, recorded_ms))
    page.call("Page.setBootstrapScript", source=script)
    page.call("Runtime.evaluate", expression=_WARM)
    deadline = time.monotonic() + _WARM_S
    while not any(e.method == "Network.loadingFailed" for e in page.events):
        if not page.pump(deadline):
            break
    page.events.clear()


def agent(page: Inspector) -> str:
    """Return what the page knows of its browser. Raises `BrowserError`."""
    found = page.call("Runtime.evaluate", expression="navigator.userAgent", returnByValue=True)
    return str(found["result"].get("value", ""))


def load(page: Inspector, url: str, client: Client) -> Load:
    """Navigate the page to `url` and watch until the load event plus the client's quiet time.

    A load that fails or does not end in time is a result, not an exception. Raises `BrowserError`.
    """
    page.events.clear()
    watch = _Watch(page)
    sent_s = time.time()
    page.send("Runtime.evaluate", expression=f"location.assign({url!r})")
    timings = watch.read_at_end(client, lambda: _timings(page, watch))
    origin_s = timings.timeOrigin / 1000 if timings else sent_s
    translated = list(as_devtools(watch.network))
    seen = exchanges(translated, origin_s - watch.clock_offset_s)
    navigation = _navigation(watch.documents, seen, timings) if timings else Navigation()
    if later_ms := began_before_ms(watch.documents, seen):
        navigation, origin_s = navigation.later(later_ms), origin_s - later_ms / 1000
        seen = exchanges(translated, origin_s - watch.clock_offset_s)
    return Load(
        outcome=watch.outcome,
        error=watch.error,
        sent_s=sent_s,
        time_origin_s=origin_s,
        navigation=navigation,
        done_ms=navigation.loadEventEnd if watch.loaded else None,
        fcp_ms=shifted(timings.fcp, later_ms) if timings else None,
        lcp_ms=shifted(timings.lcp, later_ms) if timings else None,
        documents=tuple(watch.documents),
        exchanges=seen,
    )


def _navigation(
    documents: Sequence[str], seen: Sequence[Exchange], timings: NavigationTimings
) -> Navigation:
    """Return the navigation that brought the last document."""
    moved = len(documents) > 1
    document = document_of(e for e in seen if not moved or e.request.url == documents[-1])
    return structs.replace(
        timings.navigation or Navigation(),
        connectStart=(document and document.connect_start_ms) or 0.0,
        responseStart=(document and document.response_start_ms) or 0.0,
    )


class _Watch(DevToolsWatch):
    """Watches the only page of a browser."""

    def __init__(self, page: Inspector) -> None:
        super().__init__(page, LOADED)
        self._page = page
        self._document = ""
        self.clock_offset_s = 0.0
        """Unix time minus the clock of the inspector's timestamps, from the first request."""

    def ask(self, expression: str) -> int:
        raise NotImplementedError("this browser waits for the load event alone")

    def answer_of(self, number: int) -> object:
        raise NotImplementedError("this browser waits for the load event alone")

    def ended(self) -> bool:
        if self._page.replaced:
            self.error = self.error or "the page moved to another site, which is not watched"
        return super().ended()

    def sort(self, event: Event) -> None:
        if event.method.startswith("Network."):
            self._sort_network(event)
        elif event.method == "Page.frameNavigated":
            if not self.error:  # otherwise this is the browser's error page
                self.commits(event.params["frame"])
        elif event.method == "Page.domContentEventFired":
            self.parses()
        elif event.method == "Page.loadEventFired":
            self.fires()

    def _sort_network(self, event: Event) -> None:
        params = event.params
        self.network.append(event)
        if event.method == "Network.requestWillBeSent":
            if not self._document:
                self._document = params["requestId"]
                self.clock_offset_s = params["walltime"] - params["timestamp"]
            if params.get("type") == "Document":
                self.asks(params)
        elif event.method in ("Network.loadingFinished", "Network.loadingFailed"):
            if event.method == "Network.loadingFailed":
                self._fail(params)
            self.stays(params["requestId"])

    def _fail(self, params: dict[str, Any]) -> None:
        why = error_of(params)
        if not self.committed and params["requestId"] == self._document:
            self.error = why
        elif params["requestId"] in self._leaving and why != ABORTED:
            self.error = f"the page moved on, which failed: {why}"


def _timings(page: Inspector, watch: _Watch) -> NavigationTimings | None:
    """Return the page's timings; None without a document."""
    if not watch.loaded and (watch.error or not watch.committed):
        return None
    answer = page.call("Runtime.evaluate", expression=READ_TIMINGS, returnByValue=True)
    return timings_of(answer["result"])
