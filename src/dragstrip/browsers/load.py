"""One page load in a fresh browser context."""

import contextlib
import time
from collections.abc import Iterator
from importlib import resources
from typing import Any

import msgspec
from msgspec import Struct

from dragstrip.browsers.cdp import Cdp, CdpError, Event
from dragstrip.browsers.chromium import Chromium
from dragstrip.browsers.exchanges import Exchange, exchanges
from dragstrip.browsers.screencast import Frame, acknowledge, frame, start
from dragstrip.model.study import Client
from dragstrip.model.visit import Outcome

_READ_TIMINGS = """JSON.stringify({
  timeOrigin: performance.timeOrigin,
  url: location.href,
  navigation: performance.getEntriesByType("navigation")[0],
  fcp: performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? null,
  lcp: (() => {
    const seen = new PerformanceObserver(() => {});
    seen.observe({type: "largest-contentful-paint", buffered: true});
    return seen.takeRecords().at(-1)?.startTime ?? null;
  })(),
})"""


def _script(name: str) -> str:
    return resources.files("dragstrip.browsers").joinpath(name).read_text()


_NO_SERVICE_WORKER = _script("no_service_worker.js")
_PIN_RANDOM = _script("pin_random.js")
_PIN_TIME = _script("pin_time.js")


class Navigation(Struct, frozen=True, kw_only=True):
    """PerformanceNavigationTiming of the document, ms since timeOrigin; 0 means not reached."""

    connectStart: float = 0.0
    responseStart: float = 0.0
    domContentLoadedEventEnd: float = 0.0
    loadEventEnd: float = 0.0


class _Timings(Struct, frozen=True, kw_only=True):
    timeOrigin: float
    url: str
    navigation: Navigation | None = None
    fcp: float | None = None
    lcp: float | None = None


class Load(Struct, frozen=True, kw_only=True):
    """What the browser had to say about a load. `sent_s` is Unix time of the navigation command."""

    outcome: Outcome
    error: str = ""
    sent_s: float
    time_origin_s: float
    navigation: Navigation = Navigation()
    fcp_ms: float | None = None
    lcp_ms: float | None = None
    exchanges: tuple[Exchange, ...] = ()
    frames: tuple[Frame, ...] = ()
    """What the browser drew, if the client looks at frames."""


@contextlib.contextmanager
def fresh_tab(browser: Chromium, client: Client, recorded_ms: float | None = None) -> Iterator[str]:
    """A tab in a context of its own, ready to be observed; yields the CDP session.

    If the client pins time, scripts find themselves at `recorded_ms`, ms of the Unix epoch.
    """
    cdp = browser.cdp
    width, height = client.viewport
    context = cdp.call("Target.createBrowserContext")["browserContextId"]
    try:
        target = cdp.call(
            "Target.createTarget",
            url="about:blank",
            browserContextId=context,
            width=width,
            height=height,
        )["targetId"]
        session: str = cdp.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        view = {"width": width, "height": height, "mobile": False}
        cdp.call_all(
            session,
            [
                ("Page.enable", {}),
                ("Network.enable", {}),
                (
                    "Emulation.setDeviceMetricsOverride",
                    {**view, "deviceScaleFactor": client.device_scale},
                ),
                ("Network.setBypassServiceWorker", {"bypass": True}),
            ],
        )
        for source in _preludes(client, recorded_ms):
            cdp.call("Page.addScriptToEvaluateOnNewDocument", session, source=source)
        if client.frames:
            start(cdp, session, client)
        yield session
    finally:
        cdp.call("Target.disposeBrowserContext", browserContextId=context)
        cdp.events.clear()


def _preludes(client: Client, recorded_ms: float | None) -> Iterator[str]:
    """Scripts that run before any of the page's."""
    yield _NO_SERVICE_WORKER
    if client.pin_random:
        yield _PIN_RANDOM
    if client.pin_time and recorded_ms is not None:
        yield _PIN_TIME.replace("RECORDED_MS", f"{recorded_ms:.0f}")


def load(browser: Chromium, session: str, url: str, client: Client) -> Load:
    """Navigate the tab to `url` and watch until the load event plus the client's quiet time.

    A load that fails or does not end in time is an outcome, not an exception. Raises `CdpError`
    if the browser itself breaks.
    """
    cdp = browser.cdp
    watch = _Watch(cdp, session)
    sent_s = time.time()
    deadline = time.monotonic() + client.timeout_s
    command = cdp.send("Page.navigate", session, url=url)
    while not (watch.loaded or watch.failed(command)):
        if not cdp.pump(deadline):
            break
        watch.take()
    quiet_end = time.monotonic() + client.quiet_ms / 1000
    while watch.loaded and cdp.pump(quiet_end):
        watch.take()
    outcome: Outcome = "loaded" if watch.loaded else "failed" if watch.error else "timeout"
    timings = _timings(cdp, session) if watch.loaded else None
    origin_s = timings.timeOrigin / 1000 if timings else sent_s
    return Load(
        outcome=outcome,
        error=watch.error,
        sent_s=sent_s,
        time_origin_s=origin_s,
        navigation=(timings and timings.navigation) or Navigation(),
        fcp_ms=timings.fcp if timings else None,
        lcp_ms=timings.lcp if timings else None,
        exchanges=exchanges(watch.network, origin_s - watch.clock_offset_s),
        frames=tuple(frame(event, origin_s) for event in watch.frames),
    )


class _Watch:
    """Sorts one tab's events: network events are kept, the rest steer the load."""

    def __init__(self, cdp: Cdp, session: str) -> None:
        self._cdp = cdp
        self._session = session
        self._committed = False
        self.network: list[Event] = []
        self.frames: list[Event] = []
        self.loaded = False
        self.error = ""
        self.clock_offset_s = 0.0
        """Unix time minus the clock of CDP timestamps, from the first request."""

    def take(self) -> None:
        while self._cdp.events:
            event = self._cdp.events.popleft()
            if event.session == self._session:
                self._sort(event)

    def failed(self, command: int) -> bool:
        if not self.error and self._cdp.answered(command):
            answer = self._cdp.result_of(command, "Page.navigate")
            self.error = str(answer.get("errorText", ""))
        return bool(self.error)

    def _sort(self, event: Event) -> None:
        if event.method.startswith("Network."):
            if event.method == "Network.requestWillBeSent" and not self.clock_offset_s:
                self.clock_offset_s = event.params["wallTime"] - event.params["timestamp"]
            self.network.append(event)
        elif event.method == "Page.screencastFrame":
            acknowledge(self._cdp, event)
            self.frames.append(event)
        elif event.method == "Page.frameNavigated":
            self._committed |= "parentId" not in event.params["frame"]
        elif event.method == "Page.loadEventFired":
            self.loaded |= self._committed
        elif event.method == "Page.javascriptDialogOpening":
            self._cdp.send("Page.handleJavaScriptDialog", self._session, accept=True)


def _timings(cdp: Cdp, session: str) -> _Timings:
    answer: dict[str, Any] = cdp.call(
        "Runtime.evaluate", session, expression=_READ_TIMINGS, returnByValue=True
    )
    try:
        return msgspec.json.decode(answer["result"]["value"], type=_Timings)
    except (KeyError, msgspec.DecodeError) as error:
        raise CdpError(f"the page's timings cannot be read: {error}") from None
