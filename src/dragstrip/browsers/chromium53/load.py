"""One page load in Chromium 53: what `dragstrip.browsers.load` does, in its dialect of DevTools.

What differs: it has no sessions, no contexts and no screencast; a failed document is told by its
request; page timing comes in whole milliseconds (`performance.timing`), without paint. Handshake
and first byte of the document are those of its request, on the clock of DevTools, whose zero
here is navigationStart rounded down: they err to the slow side, by less than 1 ms. The load
event ends at a difference of two whole milliseconds.
"""

import time
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from dragstrip.browsers.cdp import Cdp, CdpError, Event
from dragstrip.browsers.exchanges import Exchange, exchanges, failure
from dragstrip.browsers.load import Load, Navigation, preludes
from dragstrip.browsers.watch import TabWatch, document_of
from dragstrip.model.study import Client

TAB = ""
"""The connection is the tab's own, so its messages name no session."""
_READ_TIMINGS = "JSON.stringify(performance.timing)"


class _Timings(Struct, frozen=True):
    """Of PerformanceTiming, ms of the Unix epoch; 0 means not reached."""

    navigationStart: int
    domContentLoadedEventEnd: int
    loadEventEnd: int


def make_ready(cdp: Cdp, client: Client, recorded_ms: float | None) -> None:
    """Make the only tab of a browser ready to be observed."""
    width, height = client.viewport
    cdp.call("Page.enable")
    cdp.call("Network.enable")
    cdp.call(
        "Emulation.setDeviceMetricsOverride",
        width=width,
        height=height,
        deviceScaleFactor=client.device_scale,
        mobile=False,
        fitWindow=False,
    )
    for source in preludes(client, recorded_ms):
        cdp.call("Page.addScriptToEvaluateOnLoad", scriptSource=source)


def agent(cdp: Cdp) -> str:
    """What the browser calls itself, like ``Chrome/53.0.2785.148``. Raises `CdpError`."""
    found = cdp.call("Runtime.evaluate", expression="navigator.userAgent", returnByValue=True)
    words = str(found["result"]["value"]).split()
    return next((word for word in words if word.startswith("Chrome/")), "")


def load(cdp: Cdp, url: str, client: Client) -> Load:
    """Navigate the tab to `url` and watch until the load event plus the client's quiet time.

    A load that fails or does not end in time is an outcome. Raises `CdpError`.
    """
    watch = _Watch(cdp)
    sent_s = time.time()
    cdp.send("Page.navigate", url=url)
    watch.until_ended(client)
    watch.through_quiet(client)
    timings = _timings(cdp) if watch.loaded else None
    origin_s = timings.navigationStart / 1000 if timings else sent_s
    seen = exchanges(watch.network, origin_s - watch.clock_offset_s)
    return Load(
        outcome=watch.outcome,
        error=watch.error,
        sent_s=sent_s,
        time_origin_s=origin_s,
        navigation=_navigation(seen, timings) if timings else Navigation(),
        exchanges=seen,
    )


def _navigation(seen: Sequence[Exchange], timings: _Timings) -> Navigation:
    document = document_of(seen)
    return Navigation(
        connectStart=(document and document.connect_start_ms) or 0.0,
        responseStart=(document and document.response_start_ms) or 0.0,
        domContentLoadedEventEnd=timings.domContentLoadedEventEnd - timings.navigationStart,
        loadEventEnd=timings.loadEventEnd - timings.navigationStart,
    )


class _Watch(TabWatch):
    """Watches the only tab of a browser."""

    def __init__(self, cdp: Cdp) -> None:
        super().__init__(cdp)
        self._document = ""
        self._committed = False
        self._loaded = False
        self.clock_offset_s = 0.0
        """Unix time minus the clock of CDP timestamps, from the first request."""

    @property
    def loaded(self) -> bool:
        return self._loaded

    def sort(self, event: Event) -> None:
        params = event.params
        if event.method.startswith("Network."):
            self.network.append(event)
            if event.method == "Network.requestWillBeSent" and not self._document:
                self._document = params["requestId"]
                self.clock_offset_s = params["wallTime"] - params["timestamp"]
            elif event.method == "Network.loadingFailed" and self._is_document(params):
                self.error = failure(params)
        elif event.method == "Page.frameNavigated":
            self._committed |= "parentId" not in params["frame"]
        elif event.method == "Page.loadEventFired":
            self._loaded |= self._committed
        elif event.method == "Page.javascriptDialogOpening":
            self.cdp.send("Page.handleJavaScriptDialog", accept=True)

    def _is_document(self, params: dict[str, Any]) -> bool:
        return not self._committed and params["requestId"] == self._document


def _timings(cdp: Cdp) -> _Timings:
    answer = cdp.call("Runtime.evaluate", expression=_READ_TIMINGS, returnByValue=True)
    try:
        return msgspec.json.decode(answer["result"]["value"], type=_Timings)
    except (KeyError, msgspec.DecodeError) as error:
        raise CdpError(f"the page's timings cannot be read: {error}") from None
