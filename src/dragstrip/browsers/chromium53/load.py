"""Makes one page load in Chromium 53, as `dragstrip.browsers.load` does, but in this version's
dialect of DevTools.

Chromium 53 has no sessions, contexts or screencast. Only its request shows that a document
failed. Page timing has whole milliseconds (`performance.timing`) and no paint times. The
document's handshake and first byte come from its request. Both count from navigationStart rounded
down, so they are up to 1 ms too late. The load event's end is a difference of two whole
milliseconds.
"""

import time

import msgspec
from msgspec import Struct

from dragstrip.browsers.cdp import Cdp, Event
from dragstrip.browsers.errors import BrowserError
from dragstrip.browsers.exchanges import exchanges
from dragstrip.browsers.load import Load, Navigation, began_before_ms, preludes
from dragstrip.browsers.only_tab import OnlyTabWatch, with_document
from dragstrip.model.study import Client

TAB = ""
"""Session id of the tab: empty, because the connection belongs to the tab, and its messages name no
session."""
_READ_TIMINGS = "JSON.stringify(performance.timing)"


class _Timings(Struct, frozen=True):
    """Times of PerformanceTiming, ms of the Unix epoch; 0 means not reached."""

    navigationStart: int
    domContentLoadedEventEnd: int
    loadEventEnd: int


def make_ready(cdp: Cdp, client: Client, recorded_ms: float | None) -> None:
    """Prepare the only tab of a browser for observation."""
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
    """Return the browser's product and version, such as ``Chrome/53.0.2785.148``. Raises
    `BrowserError`."""
    found = cdp.call("Runtime.evaluate", expression="navigator.userAgent", returnByValue=True)
    words = str(found["result"]["value"]).split()
    return next((word for word in words if word.startswith("Chrome/")), "")


def load(cdp: Cdp, url: str, client: Client) -> Load:
    """Navigate the tab to `url` and watch until the load event plus the client's quiet time.

    A load that fails or does not end in time is a result, not an exception. Raises `BrowserError`.
    """
    watch = _Watch(cdp)
    sent_s = time.time()
    cdp.send("Page.navigate", url=url)
    timings = watch.read_at_end(client, lambda: _timings(cdp, watch))
    origin_s = timings.navigationStart / 1000 if timings else sent_s
    seen = exchanges(watch.network, origin_s - watch.clock_offset_s)
    navigation = Navigation()
    if timings:
        told = Navigation(
            domContentLoadedEventEnd=_since(timings, timings.domContentLoadedEventEnd),
            loadEventEnd=_since(timings, timings.loadEventEnd),
        )
        navigation = with_document(told, watch.documents, seen)
    if later_ms := began_before_ms(watch.documents, seen):
        navigation, origin_s = navigation.later(later_ms), origin_s - later_ms / 1000
        seen = exchanges(watch.network, origin_s - watch.clock_offset_s)
    return Load(
        outcome=watch.outcome,
        error=watch.error,
        sent_s=sent_s,
        time_origin_s=origin_s,
        navigation=navigation,
        done_ms=navigation.loadEventEnd if watch.loaded else None,
        documents=tuple(watch.documents),
        exchanges=seen,
    )


def _since(timings: _Timings, at_ms: int) -> float:
    return at_ms - timings.navigationStart if at_ms else 0


class _Watch(OnlyTabWatch):
    def sort(self, event: Event) -> None:
        if event.method == "Page.javascriptDialogOpening":
            self.cdp.send("Page.handleJavaScriptDialog", accept=True)
        else:
            super().sort(event)


def _timings(cdp: Cdp, watch: _Watch) -> _Timings | None:
    """Return the page's timings; None without a document."""
    if not watch.loaded and (watch.error or not watch.committed):
        return None
    answer = cdp.call("Runtime.evaluate", expression=_READ_TIMINGS, returnByValue=True)
    try:
        return msgspec.json.decode(answer["result"]["value"], type=_Timings)
    except (KeyError, msgspec.DecodeError) as error:
        raise BrowserError(f"the page's timings cannot be read: {error}") from None
