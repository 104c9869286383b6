"""The colours of the report: one per protocol, used everywhere.

The three colours keep a CIE76 distance of at least 27 from each other under simulated protanopia,
deuteranopia and tritanopia (Machado, Oliveira and Fernandes 2009, severity 1). That holds on white
and in the dark. They differ in lightness, so they also print in grey. Stacks of one protocol share
its colour and have different dash patterns.
"""

from collections.abc import Sequence

from dragstrip.model.stack import Protocol, Stack

PROTOCOL: dict[Protocol, str] = {"h1": "#c05a00", "h2": "#33479e", "h3": "#1a9c86"}
FAINT: dict[Protocol, str] = {"h1": "#f0cfae", "h2": "#c3cae6", "h3": "#b5e0d8"}
"""Colours for the time that a request waits for its answer."""
IN_THE_DARK: dict[Protocol, str] = {
    "h1": "#e8924a",
    "h2": "#8f9df2",
    "h3": "#3fc4ab",
    "gquic": "#7fb8ad",
    "spdy": "#b9c4f0",
}
"""Colours of the same hues for a dark background."""
_LEGACY: dict[Protocol, str] = {"gquic": "#0b564b", "spdy": "#7c8fd8"}
_LEGACY_FAINT: dict[Protocol, str] = {"gquic": "#94b8b1", "spdy": "#dbe0f4"}
"""Colours of a protocol's predecessor: the same hue, lighter or darker."""
UNKNOWN = "#8b8f98"
QUEUE, CONNECT, TLS = "#c9ccd3", "#9aa0ab", "#5c626e"
NAME = "#a08ac0"
"""The colour of a name's look-up."""
ALARM = "#b3261e"

_DASHES = ((1, 0), (6, 3), (2, 2), (8, 3, 2, 3))


def colour(protocol: Protocol | None) -> str:
    return {**PROTOCOL, **_LEGACY}[protocol] if protocol else UNKNOWN


def faint(protocol: Protocol | None) -> str:
    return {**FAINT, **_LEGACY_FAINT}[protocol] if protocol else QUEUE


def dashes(stacks: Sequence[Stack]) -> list[tuple[int, ...]]:
    """Return a dash pattern for each stack: solid for the first stack of a protocol, dashed for the
    others."""
    protocols = [s.protocol for s in stacks]
    return [_DASHES[protocols[:i].count(p) % len(_DASHES)] for i, p in enumerate(protocols)]
