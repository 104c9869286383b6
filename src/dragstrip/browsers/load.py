"""One page load in a fresh browser context."""

import contextlib
import math
import time
from collections.abc import Iterator
from importlib import resources
from statistics import median
from typing import Any

import msgspec
from msgspec import Struct

from dragstrip.browsers.cdp import Cdp, CdpError, Event
from dragstrip.browsers.exchanges import Exchange, exchanges
from dragstrip.browsers.screencast import (
    INTERVAL_MS,
    Frame,
    Sight,
    acknowledge,
    blind_ms,
    frame,
    start,
)
from dragstrip.browsers.watch import TabWatch
from dragstrip.model.study import Client
from dragstrip.model.visit import FastOpen, Outcome


def _script(name: str) -> str:
    return resources.files("dragstrip.browsers").joinpath("scripts", name).read_text()


READ_TIMINGS = _script("read_timings.js")
_NO_SERVICE_WORKER = _script("no_service_worker.js")
_PIN_RANDOM = _script("pin_random.js")
_PIN_TIME = _script("pin_time.js")


_LEAST_WAIT_S, _LONGEST_WAIT_S = 0.05, 2.0
"""For frames that are still under way when the visit ends."""


_SHOWN = """new Promise(shown => requestAnimationFrame(() => requestAnimationFrame(
  () => shown(performance.now()))))"""


class Navigation(Struct, frozen=True, kw_only=True):
    """PerformanceNavigationTiming of the document, ms since timeOrigin; 0 means not reached, None
    not reported."""

    connectStart: float = 0.0
    responseStart: float | None = 0.0
    domContentLoadedEventEnd: float = 0.0
    loadEventEnd: float = 0.0


class NavigationTimings(Struct, frozen=True, kw_only=True):
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
    """What the browser drew up to the end of the visit, if the client looks at frames."""
    blind_ms: float | None = None
    """See `dragstrip.browsers.screencast.blind_ms`; None if no frames were recorded."""
    fast_open: tuple[FastOpen, ...] = ()
    """By connection, if the client asked for TCP Fast Open."""
    graph: str = ""
    """Of the load generator, the graph it followed: digest and source. Browsers follow none."""


@contextlib.contextmanager
def fresh_session(cdp: Cdp, client: Client, recorded_ms: float | None = None) -> Iterator[str]:
    """A tab in its own context, ready for observation; yields the CDP session."""
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
        # In one go: a renderer that just starts answers each of them late.
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
                *(
                    ("Page.addScriptToEvaluateOnNewDocument", {"source": source})
                    for source in preludes(client, recorded_ms)
                ),
            ],
        )
        if client.frames:
            start(cdp, session, client)
        yield session
    finally:
        cdp.call("Target.disposeBrowserContext", browserContextId=context)
        cdp.events.clear()


def preludes(client: Client, recorded_ms: float | None) -> Iterator[str]:
    """Scripts that run before any of the page's."""
    yield _NO_SERVICE_WORKER
    if client.pin_random:
        yield _PIN_RANDOM
    if client.pin_time and recorded_ms is not None:
        yield _PIN_TIME.replace("RECORDED_MS", f"{recorded_ms:.0f}")


def load(cdp: Cdp, session: str, url: str, client: Client) -> Load:
    """Navigate the tab to `url` and watch until the load event plus the client's quiet time.

    A load that fails or does not end in time is an outcome, not an exception. Raises `CdpError`
    if the browser itself breaks.
    """
    sent_s = time.time()
    watch = _Watch(cdp, session, cdp.send("Page.navigate", session, url=url))
    watch.until_ended(client)
    shown = _ask_when_shown(cdp, session) if watch.loaded and client.frames else None
    watch.through_quiet(client)
    shown_ms = _await_shown(cdp, watch, shown)
    _await_frames(cdp, watch)
    timings = _timings(cdp, session) if watch.loaded else None
    origin_s = timings.timeOrigin / 1000 if timings else sent_s
    end_ms = max(_end_ms(timings, client), shown_ms)
    return Load(
        outcome=watch.outcome,
        error=watch.error,
        sent_s=sent_s,
        time_origin_s=origin_s,
        navigation=(timings and timings.navigation) or Navigation(),
        fcp_ms=timings.fcp if timings else None,
        lcp_ms=timings.lcp if timings else None,
        exchanges=exchanges(watch.network, origin_s - watch.clock_offset_s()),
        frames=tuple(f for f in (frame(s, origin_s) for s in watch.frames) if f.time_ms <= end_ms),
        blind_ms=blind_ms(watch.frames, origin_s, origin_s + end_ms / 1000)
        if client.frames
        else None,
    )


def _ask_when_shown(cdp: Cdp, session: str) -> int:
    """Ask for the time at which what is loaded now has been drawn, in the page's ms."""
    how = {"awaitPromise": True, "returnByValue": True}
    return cdp.send("Runtime.evaluate", session, expression=_SHOWN, **how)


def _await_shown(cdp: Cdp, watch: "_Watch", asked: int | None) -> float:
    """When the screen showed everything loaded; 0 if not recorded or if it took too long.

    On a quiet host that is within the quiet time. A busy host draws later, and without this wait a
    visit would end before its content is on screen.
    """
    if asked is None:
        return 0.0
    watch.over = True
    deadline = time.monotonic() + _LONGEST_WAIT_S
    while not cdp.answered(asked) and cdp.pump(deadline):
        watch.take()
    if not cdp.answered(asked):
        return 0.0
    try:
        value = cdp.result_of(asked, "Runtime.evaluate").get("result", {}).get("value")
    except CdpError:  # the page has gone elsewhere
        return 0.0
    return float(value) + 2 * INTERVAL_MS if isinstance(value, int | float) else 0.0


def _await_frames(cdp: Cdp, watch: "_Watch") -> None:
    """Frames arrive some time after they were drawn; take in those that are still under way.

    They need no longer than twice the longest time it took so far, or are late beyond use.
    """
    watch.over = True
    if watch.frames:
        longest_s = max(seen.lag_s for seen in watch.frames)
        deadline = time.monotonic() + min(max(2 * longest_s, _LEAST_WAIT_S), _LONGEST_WAIT_S)
        while cdp.pump(deadline):
            watch.take()


def _end_ms(timings: NavigationTimings | None, client: Client) -> float:
    """End of the visit, from the navigation's start; without end for a page that did not load."""
    loaded_ms = timings.navigation.loadEventEnd if timings and timings.navigation else math.inf
    return loaded_ms + client.quiet_ms


class _Watch(TabWatch):
    """Watches the tab of one session, from the command that navigates it."""

    def __init__(self, cdp: Cdp, session: str, command: int) -> None:
        super().__init__(cdp)
        self._session = session
        self._command = command
        self._committed = False
        self._loaded = False
        self.frames: list[Sight] = []
        self.over = False
        """The visit has ended: only frames still count, for they arrive late."""
        self._clock_offsets_s: list[float] = []

    @property
    def loaded(self) -> bool:
        return self._loaded

    def ended(self) -> bool:
        if not self.error and self.cdp.answered(self._command):
            answer = self.cdp.result_of(self._command, "Page.navigate")
            self.error = str(answer.get("errorText", ""))
        return super().ended()

    def clock_offset_s(self) -> float:
        """Unix time minus the clock of CDP timestamps; 0 without a request.

        The median over requests: a browser that loses its CPU between reading the one clock and
        the other errs by that time.
        """
        return median(self._clock_offsets_s) if self._clock_offsets_s else 0.0

    def sort(self, event: Event) -> None:
        if event.session != self._session:
            return
        if event.method == "Page.screencastFrame":
            self.frames.append(acknowledge(self.cdp, event))
        elif self.over:
            return
        elif event.method.startswith("Network."):
            if event.method == "Network.requestWillBeSent":
                read = event.params["wallTime"] - event.params["timestamp"]
                self._clock_offsets_s.append(read)
            self.network.append(event)
        elif event.method == "Page.frameNavigated":
            self._committed |= "parentId" not in event.params["frame"]
        elif event.method == "Page.loadEventFired":
            self._loaded |= self._committed
        elif event.method == "Page.javascriptDialogOpening":
            self.cdp.send("Page.handleJavaScriptDialog", self._session, accept=True)


def _timings(cdp: Cdp, session: str) -> NavigationTimings:
    answer: dict[str, Any] = cdp.call(
        "Runtime.evaluate", session, expression=READ_TIMINGS, returnByValue=True
    )
    return timings_of(answer["result"])


def timings_of(result: dict[str, Any]) -> NavigationTimings:
    """What READ_TIMINGS gave, as the browser handed it over. Raises `CdpError`."""
    try:
        return msgspec.json.decode(result["value"], type=NavigationTimings)
    except (KeyError, msgspec.DecodeError) as error:
        raise CdpError(f"the page's timings cannot be read: {error}") from None
