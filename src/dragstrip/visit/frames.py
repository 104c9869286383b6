"""Computes visual metrics from frames: when the page first showed something, when it was complete,
and how fast it progressed.

Visual completeness compares the colour histograms of a frame with those of the first and the last
frame, as SpeedIndex does (webpagetest.org, "Speed Index"; also visualmetrics and speedline). For
each channel and level, take |count(frame) - count(first)|, limited to |count(last) - count(first)|.
Completeness is the sum of these, divided by the sum of the limits. Nearly white pixels are ignored.
SpeedIndex is the integral over time of 1 - completeness.
"""

import io
import json
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

from PIL import Image, ImageChops

from dragstrip.browsers.screencast import Frame
from dragstrip.model.visit import Visual

NEARLY_WHITE = 249
CHANGE_LEVELS = 10
"""A pixel has changed if a channel changed by more than this many of its 256 levels."""
CHANGE_SHARE = 1e-4
"""Share of a frame's pixels that must change for a visual change. It is about ten by ten pixels, so
a blinking caret does not count."""
THUMBNAIL = (64, 36)

_Histogram = list[int]
"""Number of pixels by channel and level, 3 x 256."""


def visual(frames: Sequence[Frame], blind_ms: float | None = None) -> Visual | None:
    """Compute the visual metrics of one visit; None without frames.

    Progress starts from the last frame before the navigation, or from the first frame if there is
    none before it.
    """
    if not frames:
        return None
    ordered = sorted(frames, key=lambda f: f.time_ms)
    before = [f for f in ordered if f.time_ms <= 0]
    seen = [*before[-1:], *(f for f in ordered if f.time_ms > 0)]
    first = last = _picture(seen[0])
    changes: list[tuple[float, _Histogram]] = []
    for frame in seen[1:]:
        picture = _picture(frame)
        if differ(last, picture):
            changes.append((frame.time_ms, _histogram(picture)))
            last = picture
    curve = _progress(_histogram(first), changes)
    return Visual(
        frames=len(frames),
        fvc_ms=curve[0][0] if curve else None,
        lvc_ms=curve[-1][0] if curve else None,
        speed_index_ms=speed_index(curve) if curve else None,
        progress=curve,
        final=thumbnail(last),
        blind_ms=blind_ms,
    )


def speed_index(progress: Sequence[tuple[float, float]]) -> float:
    """Return the integral of (1 - completeness) over time in ms, from 0 to the last change."""
    missing, since_ms, total = 1.0, 0.0, 0.0
    for time_ms, complete in progress:
        total += missing * (time_ms - since_ms)
        missing, since_ms = 1 - complete, time_ms
    return total


def differ(a: Image.Image, b: Image.Image) -> bool:
    """Return whether a person would see the change between two RGB pictures."""
    if a.size != b.size:
        return True
    moved = _fold(ImageChops.lighter, ImageChops.difference(a, b)).histogram()
    return sum(moved[CHANGE_LEVELS + 1 :]) >= CHANGE_SHARE * a.width * a.height


def write_frames(target: Path, frames: Sequence[Frame]) -> None:
    """Write frames to a zip: ``times.json`` has the time of each in ms, and the pictures follow in
    the same order. The zip does not record when it was written, so the same frames give the same
    bytes."""
    target.parent.mkdir(exist_ok=True)
    names = [f"{i:05}.{_suffix(frame)}" for i, frame in enumerate(frames)]
    times = [{"file": n, "time_ms": f.time_ms} for n, f in zip(names, frames, strict=True)]
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr(zipfile.ZipInfo("times.json"), json.dumps(times, indent=1))
        for name, frame in zip(names, frames, strict=True):
            archive.writestr(zipfile.ZipInfo(name), frame.jpeg)


def read_frames(source: Path) -> list[Frame]:
    """Read the frames that `write_frames` wrote."""
    with zipfile.ZipFile(source) as archive:
        listed = json.loads(archive.read("times.json"))
        return [Frame(entry["time_ms"], archive.read(entry["file"])) for entry in listed]


def _suffix(frame: Frame) -> str:
    """Return the file name ending of a frame's format. Older browsers deliver PNG."""
    return "png" if frame.jpeg.startswith(b"\x89PNG") else "jpg"


def _progress(
    first: _Histogram, changes: Sequence[tuple[float, _Histogram]]
) -> tuple[tuple[float, float], ...]:
    if not changes:
        return ()
    *others, (done_ms, final) = changes
    wanted = [abs(a - b) for a, b in zip(final, first, strict=True)]
    total = sum(wanted)
    shares = []
    for ms, now in others:
        matched = (min(abs(n - f), w) for n, f, w in zip(now, first, wanted, strict=True))
        shares.append((ms, sum(matched) / total if total else 1.0))
    return (*shares, (done_ms, 1.0))


def _picture(frame: Frame) -> Image.Image:
    return Image.open(io.BytesIO(frame.jpeg)).convert("RGB")


def _histogram(picture: Image.Image) -> _Histogram:
    darkest = _fold(ImageChops.darker, picture)
    coloured = darkest.point([255 if level < NEARLY_WHITE else 0 for level in range(256)])
    return picture.histogram(coloured)


def _fold(
    keep: Callable[[Image.Image, Image.Image], Image.Image], picture: Image.Image
) -> Image.Image:
    """Combine the three channels of a picture into one, pixel by pixel."""
    red, green, blue = picture.split()
    return keep(keep(red, green), blue)


def thumbnail(picture: Image.Image) -> bytes:
    """Make a small PNG, for comparing the final pictures of visits."""
    kept = io.BytesIO()
    picture.resize(THUMBNAIL, Image.Resampling.BOX).save(kept, "PNG", optimize=True)
    return kept.getvalue()
