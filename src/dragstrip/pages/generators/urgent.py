"""Adds a late urgent object to a synthetic page, ``60x20KB+1x10KB:urgent``: a style sheet that the
page requests a while after its images.

A timer decides when, and not the arrival of an image: with servers that send one image after
another, the request would come earlier than with servers that send all images at once.
"""

import re
from importlib.resources import files

from dragstrip.pages.format.recording import PageError
from dragstrip.pages.generators.sizes import PATTERN, parse_sizes

PATH = "urgent.css"
_SPEC = re.compile(rf"(.*)\+{PATTERN}:urgent")
AFTER_MS = 200
"""Time in ms from the parsed document to the request: the images should take longer."""


def split(spec: str) -> tuple[str, int]:
    """Split off the urgent object: ``60x20KB+1x10KB:urgent`` -> ``60x20KB`` and 10,000 bytes; 0
    without one.

    Raises `PageError`, whose text continues the name of the page.
    """
    parts = _SPEC.fullmatch(spec)
    if not parts:
        return spec, 0
    found = parse_sizes(parts[2], parts[3], parts[4], least=1, what="an urgent object")
    if found.count != 1 or found.high != found.low:
        raise PageError(": give one urgent object of one size, like +1x10KB:urgent")
    if not parts[1] or ":" in parts[1]:
        raise PageError(": before the urgent object come images, like 60x20KB+1x10KB:urgent")
    return parts[1], found.low


def script(url: str) -> str:
    """Return a script for the document's head that requests `url` `AFTER_MS` after the document."""
    text = files("dragstrip.pages.generators").joinpath("urgent.js").read_text()
    lines = (line.strip() for line in text.splitlines())
    code = "\n".join(line for line in lines if line and not line.startswith("//"))
    return f"<script>{code.replace('AFTER', str(AFTER_MS)).replace('URL', url)}</script>"
