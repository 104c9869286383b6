"""One page load over WebDriver BiDi (W3C), as Firefox speaks it: what `dragstrip.browsers.load`
does over DevTools."""

import base64
import time
from collections.abc import Iterable
from typing import Any

from msgspec import structs

from dragstrip.browsers.bodies import MOST_BYTES, sample
from dragstrip.browsers.cdp import Cdp, CdpError, Event
from dragstrip.browsers.exchanges import Exchange
from dragstrip.browsers.firefox.exchanges import exchanges
from dragstrip.browsers.load import READ_TIMINGS, Load, Navigation, preludes, timings_of
from dragstrip.browsers.watch import TabWatch, document_of
from dragstrip.model.page import digest_of
from dragstrip.model.study import Client
from dragstrip.model.visit import Request

_LOADED = "browsingContext.load"
_FAILED = "browsingContext.navigationFailed"
_NETWORK = (
    "network.beforeRequestSent",
    "network.responseStarted",
    "network.responseCompleted",
    "network.fetchError",
)


def make_ready(cdp: Cdp, tab: str, client: Client, recorded_ms: float | None) -> None:
    """Make an empty tab ready to be observed. Raises `CdpError`."""
    width, height = client.viewport
    cdp.call(
        "browsingContext.setViewport",
        context=tab,
        viewport={"width": width, "height": height},
        devicePixelRatio=client.device_scale,
    )
    for source in preludes(client, recorded_ms):
        cdp.call(
            "script.addPreloadScript", functionDeclaration=f"() => {{ {source} }}", contexts=[tab]
        )
    cdp.call("session.subscribe", events=[_LOADED, _FAILED, *_NETWORK], contexts=[tab])
    cdp.call(
        "network.addDataCollector",
        dataTypes=["response"],
        maxEncodedDataSize=MOST_BYTES,
        contexts=[tab],
    )


def load(cdp: Cdp, tab: str, url: str, client: Client) -> Load:
    """Navigate the tab to `url` and watch until the load event plus the client's quiet time.

    A load that fails or does not end in time is an outcome. Raises `CdpError`.
    """
    cdp.events.clear()
    sent_s = time.time()
    command = cdp.send("browsingContext.navigate", context=tab, url=url, wait="none")
    watch = _Watch(cdp, tab, command)
    watch.until_ended(client)
    watch.through_quiet(client)
    timings = timings_of(_told(cdp, tab, READ_TIMINGS)) if watch.loaded else None
    origin_ms = timings.timeOrigin if timings else sent_s * 1000
    seen = exchanges(watch.network, origin_ms)
    return Load(
        outcome=watch.outcome,
        error=watch.error,
        sent_s=sent_s,
        time_origin_s=origin_ms / 1000,
        navigation=_navigation(seen, timings.navigation) if timings else Navigation(),
        fcp_ms=timings.fcp if timings else None,
        lcp_ms=timings.lcp if timings else None,
        exchanges=seen,
    )


def _navigation(seen: Iterable[Exchange], told: Navigation | None) -> Navigation:
    """The page's own timings, without a first byte if the document's request has none."""
    document = document_of(seen)
    if document and document.response_start_ms is None:
        return structs.replace(told or Navigation(), responseStart=None)
    return told or Navigation()


def _told(cdp: Cdp, tab: str, expression: str) -> dict[str, Any]:
    answer = cdp.call(
        "script.evaluate", expression=expression, target={"context": tab}, awaitPromise=False
    )
    result: dict[str, Any] = answer.get("result", {})
    return result


class _Watch(TabWatch):
    """Watches one tab, from the command that navigates it."""

    def __init__(self, cdp: Cdp, tab: str, command: int) -> None:
        super().__init__(cdp)
        self._tab = tab
        self._command = command
        self._navigation = ""
        self._over: dict[str, str] = {}
        """By navigation, why it ended; nothing if it loaded."""

    @property
    def loaded(self) -> bool:
        return self._over.get(self._navigation) == ""

    def ended(self) -> bool:
        if not self._navigation and self.cdp.answered(self._command):
            try:
                answer = self.cdp.result_of(self._command, "browsingContext.navigate")
                self._navigation = answer["navigation"]
            except CdpError as error:
                self.error = str(error)
        self.error = self.error or self._over.get(self._navigation, "")
        return super().ended()

    def sort(self, event: Event) -> None:
        if event.method in _NETWORK:
            self.network.append(event)
        elif event.params["context"] == self._tab:
            failed = event.method == _FAILED
            why = event.params.get("message") or "the navigation failed"
            self._over[event.params["navigation"] or ""] = why if failed else ""


def with_digests(cdp: Cdp, exchanges: Iterable[Exchange], seed: int) -> tuple[Exchange, ...]:
    """The exchanges, those of a sample with the size and the digest of the body that arrived.

    What crossed the wire in a content coding has a size only if its body is read, and is no text.
    """
    every = tuple(exchanges)
    bodies = {e.id: body for e in sample(every, seed, _size) if (body := _body(cdp, e)) is not None}
    return tuple(_with_digest(e, bodies.get(e.id)) for e in every)


def _size(request: Request) -> int:
    return request.wire_bytes


def _body(cdp: Cdp, exchange: Exchange) -> bytes | None:
    """None if the browser did not keep it, or changed it: in another charset, or without a byte
    order mark. Bodies with a content coding have no known size."""
    try:
        answer = cdp.call("network.getData", dataType="response", request=exchange.id)
    except CdpError:
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
