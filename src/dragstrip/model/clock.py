"""Which clock a study's visits are timed by."""

from typing import Literal

from msgspec import Struct

ClockKind = Literal["real", "network", "computing"]

SYSCALL_NS = 7_000
"""What a system call takes with the clock ``computing``: the value with which 24 pages over DSL
load, and lose packets, much as in real time (docs/reference/virtual-computing.md)."""

KEYS_NS = 200_000
"""What it takes with that clock to make the keys of a handshake, which needs no system call: for
each ClientHello and ServerHello of TLS, and each QUIC packet that has room for one. With it browser
and server take as long over them as in real time (docs/reference/virtual-computing.md)."""


class Clock(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Times by different clocks are never mixed in an estimate.

    ``real`` is this machine's time. The others are virtual: a guest's clock jumps over idle time,
    and gives the same bytes on every machine. With ``network`` computing takes no time, so only
    network and timers decide a load's time. With ``computing`` each system call of browser and
    server takes `SYSCALL_NS`, which stands for what they compute, and the keys of a handshake,
    which need no call, take `KEYS_NS`.
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
    def prices_ns(self) -> dict[str, int]:
        """Prices that browser and server pay in virtual time: of a ``syscall``, and of the ``keys``
        that a handshake begins with."""
        return {"syscall": SYSCALL_NS, "keys": KEYS_NS} if self.kind == "computing" else {}

    def lateness_us(self, limit_us: float) -> float:
        """How late a packet may leave the link, in us, if it may be `limit_us` late where computing
        takes no time: a system call that is under way ends first."""
        return limit_us + self.prices_ns.get("syscall", 0) / 1000

    def describe(self) -> str:
        """A description for a report."""
        return _WORDS[self.kind]


_SHORT: dict[ClockKind, str] = {
    "real": "real time",
    "network": "virtual time",
    "computing": "virtual time with computing",
}
_WORDS: dict[ClockKind, str] = {
    "real": "real time",
    "network": "virtual time; computing takes none",
    "computing": f"virtual time; each system call takes {SYSCALL_NS / 1000:g} us, and a "
    f"handshake's keys {KEYS_NS / 1000:g} us",
}

REAL = Clock()
NETWORK = Clock(kind="network")
COMPUTING = Clock(kind="computing")
