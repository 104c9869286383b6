"""Determines the Content-Type of a file that was saved without one."""

import codecs
import mimetypes
import re
from pathlib import PurePosixPath

from dragstrip.pages.format.recording import HTML

_TYPES = {
    ".js": "text/javascript",
    ".mjs": "text/javascript",
    ".css": "text/css",
    ".html": "text/html",
    ".htm": "text/html",
    ".xhtml": "application/xhtml+xml",
    ".woff": "font/woff",
    ".woff2": "font/woff2",
    ".webp": "image/webp",
    ".avif": "image/avif",
    ".svg": "image/svg+xml",
    ".json": "application/json",
}
_UNKNOWN = "application/octet-stream"
_BEGINNINGS = (
    (re.compile(rb"\x89PNG"), "image/png"),
    (re.compile(rb"\xff\xd8\xff"), "image/jpeg"),
    (re.compile(rb"GIF8"), "image/gif"),
    (re.compile(rb"RIFF....WEBP", re.DOTALL), "image/webp"),
    (re.compile(rb"wOF2"), "font/woff2"),
    (re.compile(rb"wOFF"), "font/woff"),
    (re.compile(rb"\s*<(!doctype html|html|head|body|!--)", re.IGNORECASE), "text/html"),
    (re.compile(rb"\s*<svg", re.IGNORECASE), "image/svg+xml"),
    (
        re.compile(rb"\s*(/\*.{0,500}?\*/\s*)?@(font-face|import|media|charset)", re.DOTALL),
        "text/css",
    ),
)
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16le"),
    (codecs.BOM_UTF16_BE, "utf-16be"),
)
META = re.compile(rb"<meta\s[^<>]*?charset\s*=\s*[\"']?\s*([A-Za-z0-9_:.-]{1,40})", re.IGNORECASE)
"""Pattern of the charset that markup names."""
_META_BYTES = 1024
"""Number of bytes in which browsers look for a charset in the markup (HTML, section 13.2.3.2)."""


def content_type(name: str, body: bytes) -> str:
    """Return a file's content type with charset, by the file's name, which may have a query, or
    else by its first bytes."""
    # Chromium saves a script as name.js.download.
    plain = name.partition("?")[0].removesuffix(".download")
    ending = PurePosixPath(plain).suffix.lower()
    known = _TYPES.get(ending) or mimetypes.types_map.get(ending)
    if known is None:
        known = next((kind for start, kind in _BEGINNINGS if start.match(body)), _UNKNOWN)
    return with_charset(known, body)


def with_charset(mime: str, body: bytes) -> str:
    """Return a media type with the charset that a browser reads from the bytes of a file.

    The charset comes from the byte order mark, else from the markup, else it is UTF-8 if the bytes
    are valid UTF-8. Otherwise the charset is left out, and the browser guesses it, as for the file.
    """
    if not mime.startswith("text/") and mime not in HTML:
        return mime
    charset = next((name for mark, name in _MARKS if body.startswith(mark)), "")
    if not charset and mime in HTML:
        charset = _said(body) or ("utf-8" if _is_utf8(body) else "")
    return f"{mime}; charset={charset}" if charset else mime


def _said(body: bytes) -> str:
    found = META.search(body, 0, _META_BYTES)
    charset = found[1].decode().lower() if found else ""
    return "utf-8" if charset.startswith("utf-16") else charset  # ASCII bytes are not UTF-16


def _is_utf8(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True
