"""Adds uploads to a synthetic page, ``1x5MB:post``: its script POSTs noise and waits for the
answer."""

import re
from collections.abc import Sequence
from importlib.resources import files

import msgspec

from dragstrip.pages.format.recording import PageError, Recorded
from dragstrip.pages.generators.sizes import NONE, PATTERN, Sizes, parse_sizes

_SPEC = re.compile(rf"{PATTERN}:post")
_ANSWER = b"received\n"


def split(spec: str) -> tuple[str, Sizes]:
    """Split off the uploads: ``12x10KB+1x5MB:post`` -> ``12x10KB`` and the sizes of the uploads.
    Either may be missing.

    Raises `PageError`, whose text continues the name of the page.
    """
    objects, plus, rest = spec.rpartition("+")
    parts = _SPEC.fullmatch(rest)
    if parts:
        uploads = parse_sizes(parts[1], parts[2], parts[3], least=1, what="an upload")
        if plus and not objects:
            raise PageError(": name the objects before the +")
        return objects, uploads
    if plus:
        raise PageError(": after the + come uploads, like +1x5MB:post")
    return spec, NONE


def script(uploads: Sequence[tuple[str, int]], objects: int) -> str:
    """Return a script for the document's head. Once `objects` objects of the markup have ended, it
    uploads the given number of bytes to each URL."""
    text = files("dragstrip.pages.generators").joinpath("upload.js").read_text()
    lines = (line.strip() for line in text.splitlines())
    code = "\n".join(line for line in lines if line and not line.startswith("//"))
    named = msgspec.json.encode(uploads).decode()
    return f"<script>{code.replace('UPLOADS', named).replace('OBJECTS', str(objects))}</script>"


def answer(url: str, size: int) -> Recorded:
    """Return the answer to an upload."""
    return Recorded(
        url=url,
        method="POST",
        status_text="OK",
        headers=(("content-type", "text/plain; charset=utf-8"), ("cache-control", "no-store")),
        upload_bytes=size,
        held=True,
        wire=_ANSWER,
    )
