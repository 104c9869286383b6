"""Makes one page load in a fresh browser context."""

import contextlib
import math
import time
from collections.abc import Iterator, Sequence
from importlib import resources
from typing import Any

import msgspec
from msgspec import Struct, structs

from dragstrip.browsers import main_thread
from dragstrip.browsers.cdp import Cdp, Event
from dragstrip.browsers.devtools_watch import DevToolsWatch
from dragstrip.browsers.errors import BrowserError
from dragstrip.browsers.exchanges import Exchange, exchanges
from dragstrip.browsers.main_thread import Task
from dragstrip.browsers.screencast import (
    INTERVAL_MS,
    Frame,
    Sight,
    acknowledge,
    blind_ms,
    frame,
    start,
)
from dragstrip.browsers.slowdown import slow_down
from dragstrip.browsers.sockets import SeenSocket, sockets
from dragstrip.browsers.workers import OF_A_TAB, Workers
from dragstrip.model.done import Done, parse_done
from dragstrip.model.page import Page
from dragstrip.model.study import Client
from dragstrip.model.visit import FastOpen, Outcome


def _script(name: str) -> str:
    return resources.files("dragstrip.browsers").joinpath("scripts", name).read_text()


READ_TIMINGS = _script("read_timings.js")
_NO_SERVICE_WORKER = _script("no_service_worker.js")
_PIN_RANDOM = _script("pin_random.js")
_PIN_TIME = _script("pin_time.js")
_DONE = {"selector": _script("done_selector.js"), "mark": _script("done_mark.js")}


_LEAST_WAIT_S, _LONGEST_WAIT_S = 0.05, 2.0
"""Shortest and longest wait for frames that are still under way when the visit ends."""


LOADED = Done("load")

_SHOWN = """new Promise(shown => requestAnimationFrame(() => requestAnimationFrame(
  () => shown(performance.now()))))"""


class Navigation(Struct, frozen=True, kw_only=True):
    """PerformanceNavigationTiming of the document, in ms since timeOrigin. A time is 0 if the event
    was not reached, and None if it was not reported."""

    connectStart: float = 0.0
    responseStart: float | None = 0.0
    domContentLoadedEventEnd: float = 0.0
    loadEventEnd: float = 0.0

    def later(self, by_ms: float) -> "Navigation":
        """Return the navigation with times that count from `by_ms` earlier, when the page's first
        document began."""
        reached = {name: at for name, at in structs.asdict(self).items() if at}
        return structs.replace(self, **{name: at + by_ms for name, at in reached.items()})


class NavigationTimings(Struct, frozen=True, kw_only=True):
    timeOrigin: float
    url: str
    navigation: Navigation | None = None
    fcp: float | None = None
    lcp: float | None = None


class Load(Struct, frozen=True, kw_only=True):
    """The browser's report of a load. `sent_s` is the Unix time of the navigation command.

    If the page navigates away by itself, the load covers all its documents. Times count from the
    start of the first document; `navigation`, `fcp_ms` and `lcp_ms` are those of the last.
    """

    outcome: Outcome
    error: str = ""
    sent_s: float
    time_origin_s: float
    navigation: Navigation = Navigation()
    done_ms: float | None = None
    """Time at which the page counted as loaded, in ms; None if it never did."""
    fcp_ms: float | None = None
    lcp_ms: float | None = None
    documents: tuple[str, ...] = ()
    """URLs of the documents that the tab showed, in order."""
    exchanges: tuple[Exchange, ...] = ()
    sockets: tuple[SeenSocket, ...] = ()
    frames: tuple[Frame, ...] = ()
    """Frames that the browser drew up to the end of the visit, if the client records frames."""
    blind_ms: float | None = None
    """Longest time in ms in which frames may have been dropped, see
    `dragstrip.browsers.screencast.blind_ms`; None if no frames were recorded."""
    tasks: tuple[Task, ...] = ()
    """The work of the page's main thread, if the client records it."""
    fast_open: tuple[FastOpen, ...] = ()
    """The result of TCP Fast Open on each connection that tried it."""
    graph: str = ""
    """Digest and source of the graph that the load generator followed; empty for browsers."""


def done_of(page: Page | None, url: str | None = None) -> Done:
    """Return the condition for a load of `page` to count as loaded. A `url` other than the page's
    own counts at the load event."""
    return LOADED if page is None or url not in (None, page.url) else parse_done(page.done)


@contextlib.contextmanager
def fresh_session(
    cdp: Cdp,
    client: Client,
    recorded_ms: float | None = None,
    done: Done = LOADED,
    *,
    workers: bool = True,
) -> Iterator[str]:
    """Open a tab in its own context and prepare it for observation; yield its CDP session.
    `workers` says whether the browser can report the requests of workers."""
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
        # The commands go out together, because a renderer that just starts answers each of them
        # late.
        cdp.call_all(
            session,
            [
                ("Page.enable", {}),
                ("Network.enable", {}),
                *([OF_A_TAB] if workers else []),
                (
                    "Emulation.setDeviceMetricsOverride",
                    {**view, "deviceScaleFactor": client.device_scale},
                ),
                ("Network.setBypassServiceWorker", {"bypass": True}),
                *([slow_down(client.cpu_slowdown)] if client.cpu_slowdown > 1 else []),
                *(
                    ("Page.addScriptToEvaluateOnNewDocument", {"source": source})
                    for source in preludes(client, recorded_ms, done)
                ),
            ],
        )
        if client.frames:
            start(cdp, session, client)
        yield session
    finally:
        cdp.call("Target.disposeBrowserContext", browserContextId=context)
        cdp.events.clear()


def preludes(client: Client, recorded_ms: float | None, done: Done = LOADED) -> Iterator[str]:
    """Yield scripts that run before any script of the page."""
    yield _NO_SERVICE_WORKER
    if client.pin_random:
        yield _PIN_RANDOM
    if client.pin_time and recorded_ms is not None:
        yield _PIN_TIME.replace("RECORDED_MS", f"{recorded_ms:.0f}")
    if done.kind in _DONE:
        yield _DONE[done.kind].replace("WHAT", msgspec.json.encode(done.what).decode())


def load(cdp: Cdp, session: str, url: str, client: Client, done: Done = LOADED) -> Load:
    """Navigate the tab to `url` and watch until it counts as loaded, plus the client's quiet time.

    A load that fails or does not end in time is a result, not an exception. Raises `BrowserError`
    if the browser itself breaks.
    """
    if client.main_thread:
        main_thread.start(cdp)
    sent_s = time.time()
    watch = _Watch(cdp, session, cdp.send("Page.navigate", session, url=url), done, client)
    timings, shown_ms = watch.read_at_end(client, lambda: _read(cdp, session, watch))
    traced = main_thread.stop(cdp) if client.main_thread else []
    navigation = (timings and timings.navigation) or Navigation()
    origin_s = timings.timeOrigin / 1000 if timings else sent_s
    offset_s = watch.clock_offset_s()
    seen = exchanges(watch.network, origin_s - offset_s)
    later_ms = began_before_ms(watch.documents, seen)
    if later_ms:
        navigation, origin_s = navigation.later(later_ms), origin_s - later_ms / 1000
        seen = exchanges(watch.network, origin_s - offset_s)
    done_ms = (
        watch.done_ms(navigation.loadEventEnd, seen, navigation.domContentLoadedEventEnd, later_ms)
        if watch.loaded
        else None
    )
    end_ms = math.inf if done_ms is None else max(done_ms + client.quiet_ms, shown_ms + later_ms)
    return Load(
        outcome=watch.outcome,
        error=watch.error,
        sent_s=sent_s,
        time_origin_s=origin_s,
        navigation=navigation,
        done_ms=done_ms,
        fcp_ms=shifted(timings.fcp, later_ms) if timings else None,
        lcp_ms=shifted(timings.lcp, later_ms) if timings else None,
        documents=tuple(watch.documents),
        exchanges=seen,
        sockets=sockets(watch.network, origin_s - offset_s),
        frames=tuple(f for f in (frame(s, origin_s) for s in watch.frames) if f.time_ms <= end_ms),
        blind_ms=blind_ms(watch.frames, origin_s, origin_s + end_ms / 1000)
        if client.frames
        else None,
        tasks=main_thread.tasks(traced, origin_s - offset_s),
    )


def began_before_ms(documents: Sequence[str], seen: Sequence[Exchange]) -> float:
    """Return the time in ms from the request for the page's first document to the last document's
    timeOrigin. It is 0 for a page with one document, although that document's request follows
    timeOrigin by some 0.2 ms."""
    return -seen[0].request.start_ms if len(documents) > 1 and seen else 0.0


def shifted(at_ms: float | None, by_ms: float) -> float | None:
    """Return `at_ms` moved later by `by_ms`; None if there is no time."""
    return None if at_ms is None else at_ms + by_ms


def _read(cdp: Cdp, session: str, watch: "_Watch") -> tuple[NavigationTimings | None, float]:
    """Return the document's timings, and when the screen showed all loaded content, in ms; 0 if not
    recorded."""
    shown_ms = _await_shown(cdp, watch)
    _await_frames(cdp, watch)
    return _timings(cdp, watch, session), shown_ms


def _ask_when_shown(cdp: Cdp, session: str) -> int:
    """Ask for the time, in the page's ms, at which the loaded content was drawn; return the
    command's number."""
    return _evaluate(cdp, session, _SHOWN)


def _await_shown(cdp: Cdp, watch: "_Watch") -> float:
    """Wait until the screen shows all loaded content; return the time in the page's ms, or 0 if it
    was not recorded or took too long.

    On a quiet host this time is within the quiet time. A busy host draws later, and without this
    wait a visit would end before its content is on screen.
    """
    asked = watch.shown
    if asked is None or not watch.loaded:
        return 0.0
    watch.over = True
    deadline = time.monotonic() + _LONGEST_WAIT_S
    while not cdp.answered(asked) and cdp.pump(deadline):
        watch.take()
    if not cdp.answered(asked):
        return 0.0
    try:
        value = cdp.result_of(asked, "Runtime.evaluate").get("result", {}).get("value")
    except BrowserError:  # the page has navigated away
        return 0.0
    return float(value) + 2 * INTERVAL_MS if isinstance(value, int | float) else 0.0


def _await_frames(cdp: Cdp, watch: "_Watch") -> None:
    """Read frames that are still under way, because they arrive some time after they were drawn.

    The wait lasts twice the longest delay of a frame so far, between `_LEAST_WAIT_S` and
    `_LONGEST_WAIT_S`.
    """
    watch.over = True
    if watch.frames:
        longest_s = max(seen.lag_s for seen in watch.frames)
        deadline = time.monotonic() + min(max(2 * longest_s, _LEAST_WAIT_S), _LONGEST_WAIT_S)
        while cdp.pump(deadline):
            watch.take()


class _Watch(DevToolsWatch):
    """Watches the tab of one session, from the command that navigates it."""

    def __init__(self, cdp: Cdp, session: str, command: int, done: Done, client: Client) -> None:
        super().__init__(cdp, done)
        self._looks = client.frames
        self._session = session
        self._command = command
        self.frames: list[Sight] = []
        self.over = False
        """Whether the visit has ended. Then only late frames count, unless another document
        comes."""
        self.shown: int | None = None
        """Id of the command that asks when the loaded content was drawn."""
        self._afterwards: list[Event] = []
        self._clock_offsets_s: list[float] = []
        self._workers = Workers(cdp)

    def ask(self, expression: str) -> int:
        return _evaluate(self.cdp, self._session, expression)

    def answer_of(self, number: int) -> object:
        answer = self.cdp.result_of(number, "Runtime.evaluate")
        if problem := answer.get("exceptionDetails"):
            return str(problem.get("exception", problem).get("description", "")).partition("\n")[0]
        return answer.get("result", {}).get("value")

    def ended(self) -> bool:
        if not self.error and self.cdp.answered(self._command):
            answer = self.cdp.result_of(self._command, "Page.navigate")
            self.error = str(answer.get("errorText", ""))
        return super().ended()

    def when_loaded(self) -> None:
        if self.loaded and self._looks:
            self.shown = _ask_when_shown(self.cdp, self._session)

    def go_on(self) -> None:
        """Resume the visit, because another document came."""
        self.over = False
        self.network += self._afterwards
        self._afterwards.clear()

    def clock_offset_s(self) -> float:
        """Unix time minus the clock of CDP timestamps; 0 without a request.

        The smallest difference of all requests is used. For each request the browser reads Unix
        time after the CDP clock. So the difference is too large if another program takes the CPU
        between the two readings, or if the browser copies a long request body there.
        """
        return min(self._clock_offsets_s, default=0.0)

    def sort(self, event: Event) -> None:
        if event.session not in ("", self._session) and event.session not in self._workers:
            return
        if event.method == "Page.screencastFrame":
            self.frames.append(acknowledge(self.cdp, event))
        elif event.method.startswith("Network."):
            self._sort_network(event)
        elif event.method == "Target.attachedToTarget":
            self._workers.starts(event)
        elif event.method == "Target.detachedFromTarget":
            for request in self._workers.ends(event):
                self.ends(request)
        elif event.method == "Page.frameNavigated":
            self.commits(event.params["frame"])
        elif event.method == "Page.domContentEventFired" and self.committed:
            self.parses()
        elif event.method == "Page.loadEventFired":
            self.fires()
        elif event.method == "Page.javascriptDialogOpening":
            self.cdp.send("Page.handleJavaScriptDialog", self._session, accept=True)

    def _sort_network(self, event: Event) -> None:
        if self.over:
            self._afterwards.append(event)
            return
        self.network.append(event)
        if event.method == "Network.requestWillBeSent":
            self._clock_offsets_s.append(event.params["wallTime"] - event.params["timestamp"])
            if event.params["request"]["url"].startswith(("https:", "http:")):
                streams = event.params.get("type") == "EventSource"
                (self.streams if streams else self.begins)(event.params["requestId"])
                self._workers.begins(event)
                if _is_navigation(event.params):
                    self.asks(event.params)
        elif event.method in ("Network.loadingFinished", "Network.loadingFailed"):
            self.ends(event.params["requestId"])
            self.stays(event.params["requestId"])


def _is_navigation(params: dict[str, Any]) -> bool:
    return params.get("type") == "Document" and params["requestId"] == params["loaderId"]


def _timings(cdp: Cdp, watch: _Watch, session: str) -> NavigationTimings | None:
    """Return the page's timings. None without a document, or if the page did not load and is too
    busy to answer."""
    if not watch.loaded and (watch.error or not watch.committed):
        return None
    asked = _evaluate(cdp, session, READ_TIMINGS)
    deadline = time.monotonic() + _LONGEST_WAIT_S
    while not watch.loaded and not cdp.answered(asked):
        if not cdp.pump(deadline):
            cdp.forget(asked)
            return None
    return timings_of(cdp.result_of(asked, "Runtime.evaluate")["result"])


def _evaluate(cdp: Cdp, session: str, expression: str) -> int:
    """Ask the page to evaluate an expression, which may be a promise; return the command's
    number."""
    how = {"awaitPromise": True, "returnByValue": True}
    return cdp.send("Runtime.evaluate", session, expression=expression, **how)


def timings_of(result: dict[str, Any]) -> NavigationTimings:
    """Read the result of READ_TIMINGS as Python values. Raises `BrowserError`."""
    try:
        return msgspec.json.decode(result["value"], type=NavigationTimings)
    except (KeyError, msgspec.DecodeError) as error:
        raise BrowserError(f"the page's timings cannot be read: {error}") from None
