"""Reads the JSON of a HAR leniently: tools leave out whatever they do not know, or write null or
another type.

A `Part` never raises: a value that is missing or of another type counts as missing.
"""

import json
import math
from datetime import UTC, datetime
from typing import Any

import msgspec

_SURROGATES = range(0xD800, 0xE000)


class HarFlaw(ValueError):
    """Raised for a text that is not a HAR; the message is half a sentence that names the place."""


class Part:
    """A JSON object."""

    __slots__ = ("_fields",)

    def __init__(self, value: Any) -> None:
        self._fields: dict[str, Any] = value if isinstance(value, dict) else {}

    def __contains__(self, name: str) -> bool:
        return name in self._fields

    def value(self, name: str) -> Any:
        """Return the value without conversion; None if it is missing."""
        return self._fields.get(name)

    def part(self, name: str) -> "Part":
        return Part(self._fields.get(name))

    def parts(self, name: str) -> list["Part"]:
        """Return the objects in a list. Items that are not objects become empty objects, so that
        indices stay the same."""
        found = self._fields.get(name)
        return [Part(item) for item in found] if isinstance(found, list) else []

    def text(self, *names: str) -> str:
        """Return the first of these fields that holds text or a number; an empty string if none
        does."""
        for name in names:
            found = self._fields.get(name)
            if isinstance(found, str) and found:
                return _unicode(found)
            if isinstance(found, int | float) and not isinstance(found, bool):
                return str(found)
        return ""

    def number(self, name: str) -> float | None:
        """Return a finite number, which may be written as a string; None if the field holds
        neither."""
        found = self._fields.get(name)
        if isinstance(found, bool) or not isinstance(found, int | float | str):
            return None
        try:
            number = float(found)
        except (ValueError, OverflowError):
            return None
        return number if math.isfinite(number) else None

    def moment(self, name: str) -> datetime | None:
        """Return a date and time in ISO 8601 format, by default in UTC; None if the field holds
        none."""
        found = self._fields.get(name)
        try:
            date = datetime.fromisoformat(found.strip()) if isinstance(found, str) else None
            # Adding the zone's offset can lead outside the years that a date may have.
            return date and (date if date.tzinfo else date.replace(tzinfo=UTC)).astimezone(UTC)
        except (ValueError, OverflowError):
            return None


def parse_log(text: bytes) -> Part:
    """Return the ``log`` of a HAR in UTF-8, UTF-16 or UTF-32, with or without a byte order mark.

    Raises `HarFlaw`.
    """
    try:
        har = _parsed(text)
    except RecursionError:
        raise HarFlaw("it is nested too deep") from None
    except UnicodeDecodeError as error:
        raise HarFlaw(f"byte {error.start} is not {error.encoding}") from None
    except ValueError as error:
        raise HarFlaw(str(error)) from None
    if not (isinstance(har, dict) and isinstance(har.get("log"), dict)):
        raise HarFlaw("it has no object `log`")
    log = Part(har["log"])
    if not isinstance(log.value("entries"), list):
        raise HarFlaw("it has no list `log.entries`")
    return log


def _parsed(text: bytes) -> Any:
    coding = json.detect_encoding(text)
    if coding not in ("utf-8", "utf-8-sig"):
        text = text.decode(coding, "replace").encode()
    text = text.removeprefix(b"\xef\xbb\xbf")
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        # The standard library is slower but accepts more: NaN, and half a surrogate pair, which
        # JSON.stringify writes.
        try:
            return json.loads(text.decode())
        except UnicodeDecodeError:
            raise
        except ValueError:
            raise ValueError(str(error)) from None


def _unicode(text: str) -> str:
    """Return the text with U+FFFD for each lone surrogate, as browsers encode it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join("\ufffd" if ord(c) in _SURROGATES else c for c in text)
    return text
