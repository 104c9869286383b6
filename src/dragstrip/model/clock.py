"""Which clock a study's visits are timed by."""

from typing import Literal

from msgspec import Struct

ClockKind = Literal["real", "network", "computing"]

SYSCALL_NS = 7_000
"""What a system call takes with the clock ``computing``: the value with which 24 pages over DSL
load, and lose packets, much as in real time (docs/reference/virtual-computing.md)."""


class Clock(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Times by different clocks are never mixed in an estimate.

    ``real`` is this machine's time. The others are virtual: a guest's clock jumps over idle time,
    and gives the same bytes on every machine. With ``network`` computing takes no time, so only
    network and timers decide a load's time. With ``computing`` each system call of browser and
    server takes `SYSCALL_NS`, which stands for what they compute.
    """

    kind: ClockKind = "real"

    @property
    def virtual(self) -> bool:
        return self.kind != "real"

    @property
    def short(self) -> str:
        """A word or two to show beside a result."""
        return _SHORT[self.kind]

    @property
    def syscall_ns(self) -> int:
        """What a system call of browser and server is made to take in virtual time."""
        return SYSCALL_NS if self.kind == "computing" else 0

    def lateness_us(self, limit_us: float) -> float:
        """How late a packet may leave the link, in us, if it may be `limit_us` late where computing
        takes no time: a system call that is under way ends first."""
        return limit_us + self.syscall_ns / 1000

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
    "computing": f"virtual time; each system call takes {SYSCALL_NS / 1000:g} us",
}

REAL = Clock()
NETWORK = Clock(kind="network")
COMPUTING = Clock(kind="computing")
