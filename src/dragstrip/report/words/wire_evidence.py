"""Describes observations of both sides of a difference in words."""

from dragstrip.report.words.numbers import amount, counted, duration, size
from dragstrip.results.compare.wire_evidence import Evidence, Pointer
from dragstrip.results.observed import BY_NAME

_WIDER = 1.5
"""Multiple of the bytes sent: a congestion window larger than this did not limit the sender."""


def rows(found: Evidence) -> list[tuple[str, str, str]]:
    """List the name of each measured quantity, with its median on both sides."""
    return [
        (BY_NAME[sign.metric].meaning, _amount(sign.metric, sign.a), _amount(sign.metric, sign.b))
        for sign in found.signs
    ]


def pointers(found: Evidence) -> list[str]:
    """Return a sentence for each cause that the evidence points to."""
    return [_WORDS[one.cause](one) for one in found.pointers]


def _amount(metric: str, value: float | None) -> str:
    return amount(value, BY_NAME[metric].unit)


def _window(one: Pointer) -> str:
    carried = one.size or 0
    fits = f", although the link carries {size(one.fits)}" if one.fits else ""
    rounds = counted(one.times or 0, "round trip")
    said = f"{one.stack}: {rounds} carried {size(carried)} {one.side} and no more{fits}."
    if one.granted:
        granted = size(one.granted)
        return f"{said} That is about the flow-control window that the server grants ({granted})."
    if one.side == "up":
        return f"{said} This points to a receive window, or to the client's congestion control."
    dropped = f"The link dropped {counted(one.lost, 'packet') if one.lost else 'nothing'}"
    if one.congestion is None:
        return (
            f"{said} {dropped}. This points to flow control or to the server's buffer for a stream "
            "or connection, or to its congestion window, which it does not report."
        )
    window = f"the sender's congestion window was {size(one.congestion)} at the end"
    if one.congestion <= _WIDER * carried:
        return f"{said} {dropped}, and {window}. This points to congestion control."
    return (
        f"{said} {dropped}, and {window}. This points to flow control or to the server's buffer "
        "for a stream or connection."
    )


def _losses(one: Pointer) -> str:
    more = counted(one.times or 0, "packet")
    return (
        f"{one.stack}: the link dropped {more} more. This points to how much the sender sends at "
        "once."
    )


def _spurious(one: Pointer) -> str:
    return (
        f"{one.stack}: the sender took {counted(one.times or 0, 'packet')} for lost that the link "
        "did not drop. This points to reordering, or to timeouts that are too short."
    )


def _server(one: Pointer) -> str:
    return (
        f"{one.stack}: answers began {duration(one.ms)} later, in the median. This points to the "
        "server, or to queues before it."
    )


_WORDS = {"window": _window, "losses": _losses, "spurious": _spurious, "server": _server}
