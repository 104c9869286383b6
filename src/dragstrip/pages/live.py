"""Describes a page that is not recorded: a site loaded live, from wherever the caller can reach
it."""

import hashlib
from pathlib import Path
from urllib.parse import urlsplit

from dragstrip.model.page import Page
from dragstrip.pages.format.recording import PageError


def live_page(url: str) -> Page:
    """Return the page at an absolute http(s) URL. Raises `PageError`."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise PageError(f"{url!r} is not a URL: with --live give one like https://example.org")
    return Page(
        name=parts.hostname + parts.path.rstrip("/").replace("/", "_"),
        path=Path(),
        url=url,
        resources=(),
        source="live, not recorded",
        digest=hashlib.sha256(url.encode()).hexdigest()[:12],
        live=True,
    )
