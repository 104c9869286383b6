"""Which clock a study's visits are timed by."""

from typing import Literal

from msgspec import Struct

Kind = Literal["real", "network", "computing"]


class Clock(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Times by different clocks are never mixed in an estimate.

    ``real`` is this machine's time. The others are virtual: a guest's clock jumps over idle time.
    With ``network`` computing takes no time at all, so a load takes what network and timers make of
    it; with ``computing`` CPU time counts, as slow as user-mode Linux makes it.
    """

    kind: Kind = "real"

    @property
    def virtual(self) -> bool:
        return self.kind != "real"

    @property
    def short(self) -> str:
        """In a word or two, to stand beside a result."""
        return _SHORT[self.kind]

    def describe(self) -> str:
        """In words, as a report says it."""
        return _WORDS[self.kind]


_SHORT: dict[Kind, str] = {
    "real": "real time",
    "network": "virtual time",
    "computing": "virtual time with computing",
}
_WORDS: dict[Kind, str] = {
    "real": "real time",
    "network": "virtual time; computing takes none",
    "computing": "virtual time; computing counts",
}

REAL = Clock()
NETWORK = Clock(kind="network")
