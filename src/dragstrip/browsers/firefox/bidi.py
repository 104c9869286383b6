"""Makes one page load over WebDriver BiDi (W3C) in Firefox, as `dragstrip.browsers.load` does over
DevTools."""

import base64
import time
from collections.abc import Iterable
from typing import Any

from msgspec import structs

from dragstrip.browsers.bodies import MOST_BYTES, sample
from dragstrip.browsers.cdp import Cdp, Event
from dragstrip.browsers.errors import BrowserError
from dragstrip.browsers.exchanges import Exchange
from dragstrip.browsers.firefox.exchanges import GIVEN_UP, exchanges
from dragstrip.browsers.firefox.sockets import is_socket, sockets
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
from dragstrip.browsers.watch import TabWatch, document_of
from dragstrip.model.done import Done
from dragstrip.model.page import digest_of
from dragstrip.model.study import Client
from dragstrip.model.visit import Request

_STARTED = "browsingContext.navigationStarted"
_ARRIVED = "browsingContext.navigationCommitted"
_PARSED = "browsingContext.domContentLoaded"
_LOADED = "browsingContext.load"
_FAILED = "browsingContext.navigationFailed"
_DOWNLOADS = "browsingContext.downloadWillBegin"
_BUSY_S = 2.0
_NO_CONTENT = (204, 205)
_NETWORK = (
    "network.beforeRequestSent",
    "network.responseStarted",
    "network.responseCompleted",
    "network.fetchError",
)


def make_ready(
    cdp: Cdp, tab: str, client: Client, recorded_ms: float | None, done: Done = LOADED
) -> None:
    """Prepare an empty tab for observation. Raises `BrowserError`."""
    width, height = client.viewport
    cdp.call(
        "browsingContext.setViewport",
        context=tab,
        viewport={"width": width, "height": height},
        devicePixelRatio=client.device_scale,
    )
    for source in preludes(client, recorded_ms, done):
        cdp.call(
            "script.addPreloadScript", functionDeclaration=f"() => {{ {source} }}", contexts=[tab]
        )
    steps = [_STARTED, _ARRIVED, _PARSED, _LOADED, _FAILED, _DOWNLOADS]
    cdp.call("session.subscribe", events=[*steps, *_NETWORK], contexts=[tab])
    cdp.call(
        "network.addDataCollector",
        dataTypes=["response"],
        maxEncodedDataSize=MOST_BYTES,
        contexts=[tab],
    )


def load(cdp: Cdp, tab: str, url: str, client: Client, done: Done = LOADED) -> Load:
    """Navigate the tab to `url` and watch until it counts as loaded, plus the client's quiet time.

    A load that fails or does not end in time is a result, not an exception. Raises `BrowserError`.
    """
    cdp.events.clear()
    sent_s = time.time()
    command = cdp.send("browsingContext.navigate", context=tab, url=url, wait="none")
    watch = _Watch(cdp, tab, command, done)
    timings = watch.read_at_end(client, lambda: _timings(cdp, watch, tab))
    origin_ms = timings.timeOrigin if timings else sent_s * 1000
    seen = exchanges(watch.network, origin_ms)
    navigation = _navigation(seen, timings.navigation) if timings else Navigation()
    later_ms = began_before_ms(watch.documents, seen)
    if later_ms:
        navigation, origin_ms = navigation.later(later_ms), origin_ms - later_ms
        seen = exchanges(watch.network, origin_ms)
    parsed_ms = navigation.domContentLoadedEventEnd
    return Load(
        outcome=watch.outcome,
        error=watch.error,
        sent_s=sent_s,
        time_origin_s=origin_ms / 1000,
        navigation=navigation,
        done_ms=watch.done_ms(navigation.loadEventEnd, seen, parsed_ms, later_ms)
        if watch.loaded
        else None,
        fcp_ms=shifted(timings.fcp, later_ms) if timings else None,
        lcp_ms=shifted(timings.lcp, later_ms) if timings else None,
        documents=tuple(watch.documents),
        exchanges=seen,
        sockets=sockets(watch.network, origin_ms),
    )


def _navigation(seen: Iterable[Exchange], told: Navigation | None) -> Navigation:
    """Return the page's own timings. The first byte is left out if the document's request has
    none."""
    document = document_of(seen)
    if document and document.response_start_ms is None:
        return structs.replace(told or Navigation(), responseStart=None)
    return told or Navigation()


def _timings(cdp: Cdp, watch: "_Watch", tab: str) -> NavigationTimings | None:
    """Return the page's timings. None without a document, or if the page did not load and is too
    busy to answer."""
    if not watch.loaded and (watch.error or not watch.committed):
        return None
    asked = _evaluate(cdp, tab, READ_TIMINGS)
    deadline = time.monotonic() + _BUSY_S
    while not watch.loaded and not cdp.answered(asked):
        if not cdp.pump(deadline):
            cdp.forget(asked)
            return None
    return timings_of(cdp.result_of(asked, "script.evaluate").get("result", {}))


def _evaluate(cdp: Cdp, tab: str, expression: str) -> int:
    """Ask the page to evaluate an expression, which may be a promise; return the command's
    number."""
    where = {"context": tab}
    return cdp.send("script.evaluate", expression=expression, target=where, awaitPromise=True)


class _Watch(TabWatch):
    """Watches one tab, from the command that navigates it."""

    def __init__(self, cdp: Cdp, tab: str, command: int, done: Done) -> None:
        super().__init__(cdp, done)
        self._tab = tab
        self._command = command
        self._navigation = ""
        self._over: dict[str, str] = {}
        """Why each navigation ended, by its id; empty if it loaded."""
        self.committed = False
        """Whether the tab has a document."""

    @property
    def fired(self) -> bool:
        return self._over.get(self._navigation) == ""

    def ask(self, expression: str) -> int:
        return _evaluate(self.cdp, self._tab, expression)

    def answer_of(self, number: int) -> object:
        answer = self.cdp.result_of(number, "script.evaluate")
        if problem := answer.get("exceptionDetails"):
            return str(problem.get("text", ""))
        return answer.get("result", {}).get("value")

    def ended(self) -> bool:
        if not self._navigation and self.cdp.answered(self._command):
            try:
                answer = self.cdp.result_of(self._command, "browsingContext.navigate")
                self._navigation = answer["navigation"]
            except BrowserError as error:
                self.error = str(error)
        self.error = self.error or self._over.get(self._navigation, "")
        return super().ended()

    def sort(self, event: Event) -> None:
        if event.method in _NETWORK:
            self.network.append(event)
            request = event.params["request"]["request"]
            if is_socket(event.params):
                return  # no load waits for this request
            if event.method == "network.beforeRequestSent":
                (self.streams if _is_events(event.params) else self.begins)(request)
            elif event.method in ("network.responseCompleted", "network.fetchError"):
                self.ends(request)
            if self.committed and event.params["request"].get("destination") == "document":
                self._follow(event)
            return
        navigation = event.params.get("navigation") or ""
        if event.params["context"] != self._tab:
            return
        if event.method == _STARTED:
            if self.committed:
                self.leaves(navigation)
        elif event.method == _ARRIVED:
            self.committed, self._navigation = True, navigation
            self._over.pop(navigation, None)
            self.arrives(event.params["url"])
        elif event.method == _PARSED:
            if self.committed:
                self.parses()
        elif event.method == _LOADED:
            # The browser's error page for a failed navigation fires load events too.
            self._over.setdefault(navigation, "")
        elif event.method == _FAILED:
            self._fail(navigation, event.params.get("message") or "the navigation failed")
        elif event.method == _DOWNLOADS:
            self.stays(navigation)

    def _fail(self, navigation: str, why: str) -> None:
        if navigation in self._leaving:
            self.error = f"the page moved on, which failed: {why}"
        elif not self.committed:
            self._over.setdefault(navigation, why)

    def _follow(self, event: Event) -> None:
        """Learn from the request for a document that the page navigates away. A page that does so
        in its load event may begin no new navigation."""
        params = event.params
        navigation, error = params["navigation"] or "", params.get("errorText")
        if event.method == "network.beforeRequestSent" and params["context"] == self._tab:
            self.leaves(navigation)
        elif error and error != GIVEN_UP:  # the rest of a page that moves on is given up
            moved = "the page moved on, which failed: " if self._leaving else ""
            self.error = self.error or f"{moved}{error}"
        elif error or params.get("response", {}).get("status") in _NO_CONTENT:
            self.stays(navigation)


def _is_events(params: dict[str, Any]) -> bool:
    """Return whether an EventSource made the request. Firefox reports no such type, but only
    EventSource accepts text/event-stream alone."""
    headers = {h["name"].lower(): h["value"]["value"] for h in params["request"]["headers"]}
    return headers.get("accept") == "text/event-stream"


def with_digests(cdp: Cdp, exchanges: Iterable[Exchange], seed: int) -> tuple[Exchange, ...]:
    """Return the exchanges. Those in a sample also get size and digest of the body. A body with a
    content encoding has a size only if it was read and is not text."""
    every = tuple(exchanges)
    bodies = {e.id: body for e in sample(every, seed, _size) if (body := _body(cdp, e)) is not None}
    return tuple(_with_digest(e, bodies.get(e.id)) for e in every)


def _size(request: Request) -> int:
    return request.wire_bytes


def _body(cdp: Cdp, exchange: Exchange) -> bytes | None:
    """Return the body that the browser received. None if the browser did not keep the body, or
    changed it by decoding another charset or dropping a byte order mark."""
    try:
        answer = cdp.call("network.getData", dataType="response", request=exchange.id)
    except BrowserError:
        return None
    value: str = answer["bytes"]["value"]
    if answer["bytes"]["type"] == "base64":
        return base64.b64decode(value)
    body = value.encode(errors="surrogatepass")
    return body if len(body) == exchange.request.body_bytes else None


def _with_digest(exchange: Exchange, body: bytes | None) -> Exchange:
    if body is None:
        return exchange
    request = structs.replace(exchange.request, body_bytes=len(body), digest=digest_of(body))
    return structs.replace(exchange, request=request)
