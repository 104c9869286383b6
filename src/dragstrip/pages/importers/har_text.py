"""Encodes the text of a HAR as the bytes that were recorded.

A HAR holds text as Unicode, whatever its charset was. Encoding follows the WHATWG Encoding
Standard: browsers read ISO-8859-1 and ASCII as windows-1252.
"""

import codecs
import re
from typing import NamedTuple

from dragstrip.pages.importers.types import META

_CHARSET = re.compile(r"charset\s*=\s*[\"']?\s*([A-Za-z0-9_:.-]{1,40})", re.IGNORECASE)
_SHEET = re.compile(rb'@charset "([A-Za-z0-9_:.-]{1,40})"')
_XML = re.compile(rb"<\?xml[^>]{0,200}encoding=[\"']([A-Za-z0-9_:.-]{1,40})")
_FIRST_BYTES = 1024
_WINDOWS_1252 = "windows-1252"
_LABELS = {
    **dict.fromkeys(
        (
            "iso-8859-1",
            "iso8859-1",
            "iso_8859-1",
            "latin1",
            "latin-1",
            "l1",
            "ascii",
            "us-ascii",
            "cp1252",
        ),
        _WINDOWS_1252,
    ),
    **dict.fromkeys(("shift_jis", "shift-jis", "sjis", "x-sjis", "windows-31j"), "cp932"),
    **dict.fromkeys(("gb2312", "gbk", "x-gbk", "gb_2312-80"), "gb18030"),
    **dict.fromkeys(("euc-kr", "ks_c_5601-1987", "windows-949"), "cp949"),
    **dict.fromkeys(("iso-8859-9", "latin5"), "cp1254"),
    **dict.fromkeys(("tis-620", "iso-8859-11"), "cp874"),
    "big5": "big5hkscs",
    "utf-16": "utf-16-le",
    "utf8": "utf-8",
}
"""Charset labels that browsers interpret differently from Python."""


class Written(NamedTuple):
    body: bytes
    charset: str
    """The claimed charset, if the text could not be encoded in it; otherwise empty."""


def encoded(text: str, content_type: str, size: int | None) -> Written:
    """Encode `text` in the charset that its header names, else the one that its markup names, else
    UTF-8.

    If neither names a charset, the recorded length `size` may show that it was windows-1252. If the
    charset lacks a character of the text, the result is UTF-8.
    """
    charset = _said(text, content_type)
    if not charset:
        body = text.encode()
        if size is not None and len(body) != size:
            other = _encode(text, _WINDOWS_1252)
            body = other if other is not None and len(other) == size else body
        return Written(body, "")
    found = _encode(text, _LABELS.get(charset, charset))
    return Written(text.encode(), charset) if found is None else Written(found, "")


def in_utf8(content_type: str) -> str:
    """Return the content type with ``charset=utf-8``, because browsers trust a header before
    anything else."""
    return f"{content_type.partition(';')[0].strip() or 'text/html'}; charset=utf-8"


def _said(text: str, content_type: str) -> str:
    if found := _CHARSET.search(content_type):
        return found[1].lower()
    start = text[:_FIRST_BYTES].encode("latin-1", "replace")
    for pattern in (_SHEET, _XML, META):
        if inside := pattern.search(start):
            charset = inside[1].decode().lower()
            return "" if charset.startswith("utf-16") else charset  # ASCII bytes are not UTF-16
    return ""


def _encode(text: str, codec: str) -> bytes | None:
    """Return the text's bytes; None if the codec is unknown or lacks a character."""
    try:
        if codec == _WINDOWS_1252:
            return b"".join(_byte(c) for c in text) if _has_gaps(text) else text.encode("cp1252")
        codecs.lookup(codec)
        return text.encode(codec)
    except (UnicodeError, LookupError, ValueError):
        return None


_GAPS = frozenset("\x81\x8d\x8f\x90\x9d")
"""Bytes without a character in windows-1252. Browsers read them as the control characters with the
same numbers."""


def _has_gaps(text: str) -> bool:
    return not _GAPS.isdisjoint(text)


def _byte(character: str) -> bytes:
    return bytes([ord(character)]) if character in _GAPS else character.encode("cp1252")
