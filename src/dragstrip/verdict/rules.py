"""Which rules a verdict follows.

A capsule keeps what was seen, and what the rules of its day made of it. It is read by the rules of
today, all of it: where its visits were judged by older ones, they are judged again.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import structs

from dragstrip.model.thresholds import DEFAULTS, Thresholds

VERSION = 6
"""Raised with every change of a check or of a default limit; `CHANGES` says what changed."""

CHANGES: Mapping[int, tuple[str, ...]] = {
    6: ("TCP Fast Open is judged, by the word of the client's kernel",),
    5: (
        "what others compute is no reason against a visit that had precedence over them, if the "
        "network decides its load",
    ),
    4: (
        "a server that decides TCP's congestion control itself is caught, by the kernel's word",
        "where a log does not tell idle connections, any of a host's may be its first",
    ),
    3: ("one request stamped late by a busy browser is no clock that is off",),
    2: (
        "status, size and hash of answers, and what a page asks for, are held against the page",
        "addresses, ports, names looked up, certificates and proxies are judged",
        "HTTP/3 that was announced by Alt-Svc and never used is a fallback",
        "refused early data shows by connection, whatever else was lost",
        "each packet's time on the line is judged, and luck within a block packet by packet",
        "requests over connections from before the visit are judged",
        "a thread may wait 120 ms, not 300 ms",
        "CPUs that were slowed down are judged",
        "TLS record sizes are judged",
    ),
}

_DEFAULTS_THEN: Mapping[int, Mapping[str, Any]] = {1: {"wait_ms": 300.0}}
"""Default limits of older rules, where today's differ."""


def limits_today(kept: Thresholds, versions: Iterable[int]) -> Thresholds:
    """The limits of a study made under these rules, for today's: what stood at a default of then
    follows the default of now, and what the study set stays."""
    then = _DEFAULTS_THEN.get(min(versions, default=VERSION), {})
    moved = {n: getattr(DEFAULTS, n) for n, old in then.items() if getattr(kept, n) == old}
    return structs.replace(kept, **moved)
