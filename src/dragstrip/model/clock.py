"""The clocks by which a study's visits can be timed."""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

ClockKind = Literal["real", "network", "computing", "priced", "priced-2"]

SYSCALL_NS = 7_000
"""Virtual ns per system call under the priced clocks. With this value, 24 pages over DSL load, and
lose packets, much as in real time (docs/decisions/0046-a-price-for-system-calls.md)."""

KEYS_NS = 200_000
"""Virtual ns for computing the keys of a handshake under the priced clocks. Computing keys needs
no system call, so it has its own price. The price is paid for each ClientHello and ServerHello of
TLS, and for each QUIC packet that has room for one of them
(docs/decisions/0047-a-price-for-keys.md)."""

PAGE_NS = 30_000
"""Virtual ns per page of memory that a program's first thread gets, under the clock `priced-2`.
Scripts, style and layout run on that thread and need memory for all they do
(docs/decisions/0104-threads-beside.md)."""

PAGE_BESIDE_NS = 7_000
"""Virtual ns per page of memory that another thread gets, under the clock `priced-2`. Such a thread
draws or decodes beside the first, so it waits for as long and holds up no other
(docs/decisions/0104-threads-beside.md)."""

_FIRST_PAGE_NS = 20_000
"""Virtual ns per page of memory of a first thread, under the clock `priced`."""


class Clock(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The clock of a visit. An estimate never mixes times of different clocks.

    ``real`` is this machine's time. The others are virtual: a guest's clock jumps over idle time,
    and gives the same bytes on every machine. With ``network``, computing takes no time, so only
    network and timers determine a load's time. With ``priced-2``, browser and server pay for
    computing: `SYSCALL_NS` per system call, `KEYS_NS` per handshake's keys, `PAGE_NS` per page of
    memory of a program's first thread and `PAGE_BESIDE_NS` per page of its other threads. Only
    older capsules have the other two: ``priced``, where a page of a first thread took 20 us and
    others none, and ``computing``, which had no price for memory.
    """

    kind: ClockKind = "real"

    @property
    def virtual(self) -> bool:
        return self.kind != "real"

    @property
    def short(self) -> str:
        """Name of the clock in a word or two, to show beside a result."""
        return _SHORT[self.kind]

    @property
    def prices_ns(self) -> dict[str, int]:
        """Prices in ns that browser and server pay in virtual time: per ``syscall``, per
        handshake's ``keys``, and per ``page`` of memory."""
        return dict(_PRICES_NS.get(self.kind, {}))

    def lateness_us(self, limit_us: float) -> float:
        """Return the limit of a packet's lateness at the link, in us: `limit_us`, plus the price of
        a system call if all threads shared a processor, because a call under way ended first."""
        return limit_us + (SYSCALL_NS / 1000 if self.kind in _ONE_PROCESSOR else 0)

    def describe(self) -> str:
        """Describe the clock for a report."""
        return _WORDS[self.kind]


_ONE_PROCESSOR = ("computing", "priced")
"""Clocks of capsules that older kernels made: any thread's computing held up the others and the
link."""

_PRICES_NS: Mapping[ClockKind, Mapping[str, int]] = {
    "computing": {"syscall": SYSCALL_NS, "keys": KEYS_NS},
    "priced": {"syscall": SYSCALL_NS, "keys": KEYS_NS, "page": _FIRST_PAGE_NS},
    "priced-2": {
        "syscall": SYSCALL_NS,
        "keys": KEYS_NS,
        "page": PAGE_NS,
        "page_beside": PAGE_BESIDE_NS,
    },
}
_CALLS = f"each system call takes {SYSCALL_NS / 1000:g} us"
_KEYS = f"a handshake's keys {KEYS_NS / 1000:g} us"
_SHORT: Mapping[ClockKind, str] = {
    "real": "real time",
    "network": "virtual time without computing",
    "computing": "virtual time without a price for memory",
    "priced": "virtual time at the first prices for memory",
    "priced-2": "virtual time",
}
_WORDS: Mapping[ClockKind, str] = {
    "real": "real time",
    "network": "virtual time; computing takes none",
    "computing": f"virtual time; {_CALLS}, and {_KEYS}",
    "priced": f"virtual time; {_CALLS}, {_KEYS}, and a page of memory {_FIRST_PAGE_NS / 1000:g} us",
    "priced-2": f"virtual time; {_CALLS}, {_KEYS}, a page of memory {PAGE_NS / 1000:g} us, and "
    f"{PAGE_BESIDE_NS / 1000:g} us on threads beside the first",
}

REAL = Clock()
NETWORK = Clock(kind="network")
PRICED = Clock(kind="priced-2")
