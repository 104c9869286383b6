"""Records what the page's main thread does (CDP `Tracing`), as DevTools' Performance panel does.

Chromium's trace has a span for each piece of work: parsing, style, layout, scripts, painting. The
categories here leave out what every thread does at every moment, so a load of sixty requests makes
some six hundred events.
"""

import time
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from dragstrip.browsers.cdp import Cdp
from dragstrip.browsers.errors import BrowserError

_CATEGORIES = ("devtools.timeline", "devtools.timeline.frame")
_MAIN = "CrRendererMain"
_FRAME = "AnimationFrame"
_LONGEST_WAIT_S = 30.0
TraceEvent = dict[str, Any]


class Task(Struct, frozen=True):
    """A piece of work of a main thread, or a frame that it drew. Times count from the navigation's
    start."""

    name: str
    start_ms: float
    end_ms: float
    thread: int
    """Main threads count from 0, in the order in which they began. A page has one, unless it moves
    on to another site."""
    what: str = ""
    """URL of the script or document, or the name of the event; empty if the browser names none."""
    frame: bool = False
    """Whether this is a frame, from its begin to its last step. Work overlaps with frames."""


def start(cdp: Cdp) -> None:
    """Record from now on. Raises `BrowserError`."""
    config = {"includedCategories": list(_CATEGORIES), "excludedCategories": ["*"]}
    cdp.call("Tracing.start", traceConfig=config, transferMode="ReportEvents")


def stop(cdp: Cdp) -> list[TraceEvent]:
    """Stop, and return what was recorded. Events of other domains stay. Raises `BrowserError`."""
    cdp.call("Tracing.end")
    deadline = time.monotonic() + _LONGEST_WAIT_S
    while not any(event.method == "Tracing.tracingComplete" for event in cdp.events):
        if not cdp.pump(deadline):
            raise BrowserError(
                f"Tracing.end: the trace is not complete after {_LONGEST_WAIT_S:g} s"
            )
    found: list[TraceEvent] = []
    for event in cdp.events:
        if event.method == "Tracing.dataCollected":
            found += event.params["value"]
    others = [event for event in cdp.events if not event.method.startswith("Tracing.")]
    cdp.events.clear()
    cdp.events.extend(others)
    return found


def tasks(events: Sequence[TraceEvent], origin_s: float) -> tuple[Task, ...]:
    """Return the work of all main threads, in order. `origin_s` is the navigation's start by the
    clock of DevTools, which the trace has too."""
    threads = {
        (e["pid"], e["tid"])
        for e in events
        if e["name"] == "thread_name" and e["args"]["name"] == _MAIN
    }
    mine = sorted(
        (e for e in events if e["ph"] in "Xbe" and (e["pid"], e["tid"]) in threads),
        key=lambda e: (e["ts"], -e.get("dur", 0)),
    )
    numbers: dict[tuple[int, int], int] = {}
    for event in mine:
        numbers.setdefault((event["pid"], event["tid"]), len(numbers))
    found = []
    for name, began_us, ended_us, event in _spans(mine):
        found.append(
            Task(
                name,
                round(began_us / 1000 - origin_s * 1000, 3),
                round(ended_us / 1000 - origin_s * 1000, 3),
                numbers[event["pid"], event["tid"]],
                _what(event),
                name == _FRAME,
            )
        )
    return tuple(sorted(found, key=lambda task: task.start_ms))


def _spans(events: Sequence[TraceEvent]) -> Iterator[tuple[str, float, float, TraceEvent]]:
    """Yield name, begin and end in us of each complete event, and of each frame."""
    open_: dict[tuple[int, str], TraceEvent] = {}
    for event in events:
        if event["ph"] == "X":
            yield event["name"], event["ts"], event["ts"] + event.get("dur", 0), event
        elif event["name"] == _FRAME:
            key = event["pid"], _id(event)
            if event["ph"] == "b":
                open_[key] = event
            elif key in open_:
                began = open_.pop(key)
                yield _FRAME, began["ts"], event["ts"], began


def _id(event: TraceEvent) -> str:
    return str(event.get("id2", event.get("id")))


def _what(event: TraceEvent) -> str:
    data = event["args"].get("data") or event["args"].get("beginData") or {}
    return str(data.get("url") or data.get("type") or data.get("styleSheetUrl") or "")
