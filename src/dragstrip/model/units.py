"""Parses quantities as people type them: ``10.5mbit``, ``37ms``, ``1.7%``, ``10KB``.

Inside the program, a variable's name gives its unit (`rate_mbps`, `delay_ms`; `loss` is a
fraction). Each parser raises `UnitError`, which says what to write instead.
"""

import re
from collections.abc import Mapping

from msgspec import Struct

from dragstrip.model.errors import InputError


class UnitError(InputError):
    """Raised if a quantity cannot be read; the text says what was expected."""


_RATE_MBPS = {"bit": 1e-6, "kbit": 1e-3, "mbit": 1.0, "gbit": 1e3}
_RATE_MBPS |= {"bps": 1e-6, "kbps": 1e-3, "mbps": 1.0, "gbps": 1e3}
_TIME_MS = {"us": 1e-3, "ms": 1.0, "s": 1e3}
_SIZE_BYTES = {"": 1, "b": 1, "kb": 1_000, "mb": 1_000_000, "gb": 1_000_000_000}
_SIZE_BYTES |= {"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30}
_NUMBER = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([a-zA-Z%]*)\s*")


def _split(text: str, what: str, example: str) -> tuple[float, str]:
    match = _NUMBER.fullmatch(text)
    if not match:
        raise UnitError(f"{text!r} is not a {what}; write it like {example}")
    return float(match[1]), match[2].lower()


def _scaled(text: str, units: Mapping[str, float], what: str, example: str) -> float:
    value, unit = _split(text, what, example)
    if unit not in units:
        known = ", ".join(u for u in units if u)
        raise UnitError(f"{text!r} is not a {what}; use one of {known}, like {example}")
    return value * units[unit]


def parse_rate_mbps(text: str) -> float | None:
    """Parse a rate in Mbit/s: ``"10.5mbit"`` -> 10.5; ``"unlimited"`` -> None. Zero is refused."""
    if text.strip().lower() == "unlimited":
        return None
    rate = _scaled(text, _RATE_MBPS, "rate", "10.5mbit or unlimited")
    if rate <= 0:
        raise UnitError(f"{text!r}: a rate must be above zero")
    return rate


def parse_duration_ms(text: str) -> float:
    """Parse a duration in ms: ``"37ms"`` -> 37.0; ``"0.2s"`` -> 200.0."""
    return _scaled(text, _TIME_MS, "duration", "37ms")


def parse_share(text: str) -> float:
    """Parse a share: ``"1.7%"`` -> 0.017; ``"0.017"`` -> 0.017. Values outside 0..1 are refused."""
    value, unit = _split(text, "share", "1.7% or 0.017")
    if unit not in ("", "%"):
        raise UnitError(f"{text!r} is not a share; write it like 1.7% or 0.017")
    share = value / 100 if unit == "%" else value
    if share > 1:
        raise UnitError(f"{text!r}: a share lies between 0% and 100%")
    return share


def parse_size_bytes(text: str) -> int:
    """Parse a size in bytes: ``"10KB"`` -> 10_000; ``"10KiB"`` -> 10_240."""
    return round(_scaled(text, _SIZE_BYTES, "size", "10KB"))


def plain(value: float) -> str:
    """Write a number without trailing zeros: 74.0 -> ``74``, 10.5 -> ``10.5``."""
    return f"{value:.6g}"


def require_shares(record: Struct, *names: str) -> None:
    """Raise `ValueError` if one of these fields is outside 0..1."""
    for name in names:
        if not 0 <= getattr(record, name) <= 1:
            raise ValueError(f"{name} must be a share between 0 and 1")
