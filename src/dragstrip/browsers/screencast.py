"""What the browser draws, as frames with times (CDP `Page.startScreencast`).

Of the ways to see a page without an X server this one was chosen (docs/decisions, frames): it hands
over every frame that differs, at the size asked for, for as long as a load lasts.
"""

import base64

from msgspec import Struct

from dragstrip.browsers.cdp import Cdp, Event
from dragstrip.model.study import Client

INTERVAL_MS = 1000 / 60
"""Chromium draws at most once in a display interval, and stamps a frame with the interval's end."""

_SHRINK = 2
_QUALITY = 80


class Frame(Struct, frozen=True):
    """A picture the browser drew. `time_ms` counts from the navigation's start: the middle of the
    display interval in which it was drawn, so it errs by at most half an interval (8.3 ms)."""

    time_ms: float
    jpeg: bytes


def start(cdp: Cdp, session: str, client: Client) -> None:
    """Ask for all frames of a tab from now on, at half the viewport's width and height."""
    width, height = client.viewport
    cdp.call(
        "Page.startScreencast",
        session,
        format="jpeg",
        quality=_QUALITY,
        maxWidth=width // _SHRINK,
        maxHeight=height // _SHRINK,
    )


def acknowledge(cdp: Cdp, event: Event) -> None:
    """Without it the browser stops after two frames."""
    number = event.params["sessionId"]
    cdp.send("Page.screencastFrameAck", event.session, sessionId=number)


def frame(event: Event, time_origin_s: float) -> Frame:
    """A `Page.screencastFrame` event; its timestamp is Unix time in seconds."""
    shown_ms = (event.params["metadata"]["timestamp"] - time_origin_s) * 1000
    return Frame(shown_ms - INTERVAL_MS / 2, base64.b64decode(event.params["data"]))
