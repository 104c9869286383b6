"""The causes for which the link drops packets, one row per cause.

The counters of `dragstrip.model.visit.DirectionReport` are named after these rows. Metrics,
verdict, report and tables all take their causes from here, so none is left out of a sum.
"""

from collections.abc import Callable, Mapping

from msgspec import Struct

from dragstrip.model.network import Direction


class DropCause(Struct, frozen=True):
    name: str
    """Name of the cause's counter, ``dropped_NAME``."""
    words: str
    """What happened to the packets, to follow "12 packets were"."""
    asked: Callable[[Direction], object]
    """Whether a direction is configured so that this cause can occur."""


DROP_CAUSES = (
    DropCause("loss", "lost at random", lambda d: d.mean_loss),
    DropCause("queue", "dropped by a full queue", lambda d: d.depth),
    DropCause("aqm", "dropped by the AQM", lambda d: d.aqm),
    DropCause("mtu", "dropped as too long", lambda d: d.mtu),
    DropCause("syn_data", "dropped as SYNs with data", lambda d: d.drops_syn_data),
    DropCause("host", "lost on a host's way", lambda d: d.hosts),
)


def drops_in_words(drops: Mapping[str, int], *, but: str = "") -> str:
    """Packets dropped, by cause, in words: ``3 lost at random, 2 dropped by a full queue``, or
    ``none dropped``. `but` names a cause to leave out."""
    phrases = (
        f"{drops[cause.name]} {cause.words}"
        for cause in DROP_CAUSES
        if cause.name != but and drops[cause.name]
    )
    return ", ".join(phrases) or "none dropped"
