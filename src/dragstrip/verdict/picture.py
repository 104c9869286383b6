"""Checks that the visit's final picture looks like that of the recording, or of other visits.

This replaces reviewing videos by hand (wolsing2019 section 3.2).
"""

import io
from collections.abc import Iterator

import numpy as np
from PIL import Image

from dragstrip.model.done import parse_done
from dragstrip.model.page import Page
from dragstrip.model.study import Client
from dragstrip.model.thresholds import Thresholds
from dragstrip.model.visit import Reason, Visit
from dragstrip.pages.format.archive import read_screenshot
from dragstrip.visit.frames import thumbnail

CELL_LEVELS = 24
"""Levels, of 256, by which a channel must differ for a cell of the thumbnail to differ."""


def like_reference(visit: Visit, reference: bytes, limits: Thresholds) -> Iterator[Reason]:
    """Yield `picture-mismatch` if a loaded page does not look like its reference picture.

    Failed loads have no final picture, and neither have pages whose `done` does not imply a
    complete load. Pages without a reference are not judged.
    """
    whole = visit.outcome == "loaded" and parse_done(visit.done).whole
    if not (reference and visit.visual and whole):
        return
    apart = distance(visit.visual.final, reference)
    if apart > limits.picture_share:
        yield Reason(
            "picture-mismatch",
            f"{apart:.0%} of the final picture differs from the page's reference (limit "
            f"{limits.picture_share:.0%})",
        )


def watched(visit: Visit, limits: Thresholds) -> Iterator[Reason]:
    """Yield `overloaded` if frames came faster than the host could process them. Some frames may
    then be missing, and times of visual changes may be wrong."""
    blind_ms = visit.visual.blind_ms if visit.visual else None
    if blind_ms is not None and blind_ms > limits.blind_ms:
        yield Reason(
            "overloaded",
            f"for {blind_ms:.0f} ms frames may have been lost, because earlier ones were taken too "
            f"slowly (limit {limits.blind_ms:g} ms)",
        )


def recorded(page: Page, client: Client) -> bytes:
    """Return the recording's own picture as a thumbnail; empty if there is none for the client's
    viewport."""
    kept = read_screenshot(page)
    if kept is None:
        return b""
    with Image.open(io.BytesIO(kept)) as image:
        wanted = tuple(round(side * client.device_scale) for side in client.viewport)
        return thumbnail(image.convert("RGB")) if image.size == wanted else b""


def distance(a: bytes, b: bytes) -> float:
    """Return the share of cells, 0..1, in which two thumbnails differ; 1 for thumbnails of
    different size."""
    one, two = _cells(a), _cells(b)
    if one.shape != two.shape:
        return 1.0
    return float((np.abs(one - two).max(axis=2) > CELL_LEVELS).mean())


def _cells(png: bytes) -> np.ndarray[tuple[int, ...], np.dtype[np.int16]]:
    with Image.open(io.BytesIO(png)) as image:
        return np.asarray(image.convert("RGB")).astype(np.int16)
