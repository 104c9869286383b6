"""Records what the browser draws as frames with times (CDP `Page.startScreencast`).

A screencast needs no X server. The browser sends every frame that differs from the one before, at
the requested size, as long as a load lasts. See docs/decisions (frames) for the alternatives.
"""

import base64
import time
from collections.abc import Sequence

from msgspec import Struct

from dragstrip.browsers.cdp import Cdp, Event
from dragstrip.model.study import Client

INTERVAL_MS = 1000 / 60
"""Length of a display interval in ms. Chromium draws at most once per interval, and stamps a frame
with the interval's end."""

AHEAD = 2
"""Most unacknowledged frames. If there are more, Chromium drops frames, and does not send them
later."""

_SHRINK = 2
_QUALITY = 80


class Sight(Struct, frozen=True):
    """A `Page.screencastFrame` event, and the Unix time in s at which it was acknowledged."""

    event: Event
    acknowledged_s: float

    @property
    def drawn_s(self) -> float:
        """End of the display interval, Unix time in s."""
        stamp: float = self.event.params["metadata"]["timestamp"]
        return stamp

    @property
    def lag_s(self) -> float:
        return self.acknowledged_s - self.drawn_s


class Frame(Struct, frozen=True):
    """A picture that the browser drew.

    `time_ms` counts from the navigation's start. It is the middle of the display interval in which
    the frame was drawn, so it errs by at most half an interval (8.3 ms)."""

    time_ms: float
    jpeg: bytes


def start(cdp: Cdp, session: str, client: Client) -> None:
    """Start to record all frames of a tab, at half the viewport's width and height."""
    width, height = client.viewport
    cdp.call(
        "Page.startScreencast",
        session,
        format="jpeg",
        quality=_QUALITY,
        maxWidth=width // _SHRINK,
        maxHeight=height // _SHRINK,
    )


def acknowledge(cdp: Cdp, event: Event) -> Sight:
    """Acknowledge a frame. Without acknowledgement the browser stops after `AHEAD` frames."""
    number = event.params["sessionId"]
    cdp.send("Page.screencastFrameAck", event.session, sessionId=number)
    return Sight(event, time.time())


def frame(seen: Sight, time_origin_s: float) -> Frame:
    shown_ms = (seen.drawn_s - time_origin_s) * 1000
    return Frame(shown_ms - INTERVAL_MS / 2, base64.b64decode(seen.event.params["data"]))


def blind_ms(seen: Sequence[Sight], since_s: float, until_s: float) -> float:
    """Return the longest period, in ms, between `since_s` and `until_s` in which Chromium may have
    dropped frames.

    Such a period begins one display interval after `AHEAD` frames are unacknowledged, and ends when
    fewer are. A result of zero proves that no frame is missing.
    """
    longest_s = 0.0
    for last in seen:
        begin_s = last.drawn_s
        ends = sorted(s.acknowledged_s for s in seen if s.drawn_s <= begin_s < s.acknowledged_s)
        if len(ends) >= AHEAD:
            end_s = min(ends[-AHEAD], until_s)
            longest_s = max(longest_s, end_s - max(begin_s + INTERVAL_MS / 1000, since_s))
    return longest_s * 1000
