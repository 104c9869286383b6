"""Which clock a study's visits are timed by."""

from typing import Literal

from msgspec import Struct

ClockKind = Literal["real", "network", "computing"]


class Clock(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Times by different clocks are never mixed in an estimate.

    ``real`` is this machine's time. The others are virtual: a guest's clock jumps over idle time.
    With ``network`` computing takes no time, so only network and timers decide a load's time. With
    ``computing`` CPU time counts, at the speed of user-mode Linux.
    """

    kind: ClockKind = "real"

    @property
    def virtual(self) -> bool:
        return self.kind != "real"

    @property
    def short(self) -> str:
        """A word or two to show beside a result."""
        return _SHORT[self.kind]

    def describe(self) -> str:
        """In words, for a report."""
        return _WORDS[self.kind]


_SHORT: dict[ClockKind, str] = {
    "real": "real time",
    "network": "virtual time",
    "computing": "virtual time with computing",
}
_WORDS: dict[ClockKind, str] = {
    "real": "real time",
    "network": "virtual time; computing takes none",
    "computing": "virtual time; computing counts",
}

REAL = Clock()
NETWORK = Clock(kind="network")
