"""Finds the columns of a throughput log that hold the time and the rates, and the rates' units, by
the columns' names.

The names are those of public logs: G-NetTrack (Irish 4G and 5G), FCC MBA (`bytes_sec`), Starlink
dishes (`downlink_throughput_bps`), iperf3 (`bits_per_second`), Sabre (`bandwidth_kbps`).
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from dragstrip.model.effects import Side


class Unit(NamedTuple):
    """The unit of a rate, or of the amount that one interval carried."""

    name: str
    mbit: float
    """Size of the unit in Mbit."""
    per_second: bool


_PREFIXES = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9}
_WORDS = {"kilo": "k", "mega": "m", "giga": "g"}
_UNIT = re.compile(
    r"(?<![A-Za-z])(?P<prefix>kilo|mega|giga|[kmg])?i?(?P<base>bits?|bytes?|octets?|b)"
    r"(?P<per>\s?/\s?s(ec|econd)?|ps|[ _]?per[ _]?s(ec|econd)?|[ _]s(ec)?)?(?![A-Za-z])",
    re.IGNORECASE,
)
_DOWN = frozenset(
    "dl down downlink download downstream rx received recv receive incoming ingress".split()
)
_UP = frozenset("ul up uplink upload upstream tx sent send transmit outgoing egress".split())
_RATE = frozenset(
    "throughput bitrate bandwidth goodput tput thrpt rate bw capacity speed bps kbps mbps".split()
)
_TIME = frozenset(
    "timestamp time datetime datetimestamp dtime ts t elapsed seconds secs epoch date start".split()
)
_DURATION = frozenset("duration interval".split())
_NO_TIME = frozenset("fetch warmup ping rtt mode end total round trip".split())
_ASIDE = frozenset(
    "total warmup max min avg average mean std stdev target limit drop loss cumulative".split()
)


_BOTH_WAYS = frozenset("rtt ping round rtts".split())
_ONE_WAY = frozenset("owd oneway one delay".split())
_DELAY = _BOTH_WAYS | _ONE_WAY | frozenset("latency delays".split())
_NO_DELAY = frozenset("drop loss std stdev jitter variation target limit max min count".split())
_DELAY_UNITS = {"ms": 1.0, "us": 1e-3, "s": 1e3, "ns": 1e-6, "msec": 1.0, "usec": 1e-3, "sec": 1e3}

_SHOWN = 12


def unit_in(text: str) -> Unit | None:
    """Return the unit in a column's name or in an option; None if there is none, or if bits and
    bytes are ambiguous as in ``MBPS``.

    ``DL (kbps)`` is kbit/s; ``MB/s`` and ``bytes_sec`` are bytes per second; ``rx_bytes`` is bytes
    in each interval.
    """
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z][a-z])", " ", text)
    for match in _UNIT.finditer(spaced.replace("_", " ")):
        if unit := _unit(match, bracketed=f"({match[0]}" in text or f"[{match[0]}" in text):
            return unit
    return None


def _unit(match: re.Match[str], *, bracketed: bool) -> Unit | None:
    prefix, base, per = match["prefix"] or "", match["base"], (match["per"] or "").strip()
    if len(base) == 1:
        shouted = match[0].isupper() and len(match[0]) > 2 and "/" not in match[0]
        if shouted or not (per or bracketed or (prefix and base == "B")):
            return None  # MBPS may be bits or bytes, and one letter alone may be anything
        is_byte = base == "B"
    else:
        is_byte = not base.lower().startswith("bit")
    scale = _WORDS.get(prefix.lower(), prefix.lower())
    shown = {"k": "k", "m": "M", "g": "G", "": ""}[scale] + ("B" if is_byte else "bit")
    mbit = _PREFIXES[scale] * (8 if is_byte else 1) / 1e6
    return Unit(shown + ("/s" if per else ""), mbit, bool(per))


class Column(NamedTuple):
    place: int
    """Index of the column, from 0."""
    name: str
    unit: Unit | None


class Columns(NamedTuple):
    """The columns of a log by their meaning; None for a missing one."""

    time: Column | None
    duration: Column | None
    sides: dict[Side, Column]
    """The column of each direction; `up` is missing if the log has only one rate."""


class Unclear(ValueError):
    """Raised if the log is ambiguous; `answer` is an example of an option that resolves it."""

    def __init__(self, question: str, answer: str) -> None:
        super().__init__(question)
        self.answer = answer


def find_columns(names: Sequence[str], chosen: dict[str, str]) -> Columns:
    """Find the columns of a log by name. `chosen` may set the column for ``time``, ``down`` or
    ``up``, by its name or its number from 1. Raises `Unclear`."""
    given = {
        role: _named(names, role, chosen[role]) for role in ("time", "down", "up") if role in chosen
    }
    taken = {c.place for c in given.values()}
    free = [Column(i, n, unit_in(n)) for i, n in enumerate(names) if i not in taken]
    times, durations = _time_columns(free)
    rates = [c for c in free if c not in times + durations and _is_rate(c)]
    sides: dict[Side, Column] = {}
    ways: tuple[tuple[Side, frozenset[str], frozenset[str]], ...]
    ways = (("down", _DOWN, _UP), ("up", _UP, _DOWN))
    for side, words, other in ways:
        if side in given:
            sides[side] = given[side]
            continue
        mine = [c for c in rates if _words(c.name) & words and not _words(c.name) & other]
        if side == "down" and not mine:
            mine = [c for c in rates if not _words(c.name) & (_UP | _DOWN)]
        if mine:
            sides[side] = _best(mine, side)
    if "down" not in sides:
        raise Unclear(f"no name tells which column is the rate ({_listed(names)})", "down=NAME")
    return Columns(given.get("time") or next(iter(times), None), next(iter(durations), None), sides)


def find_times(names: Sequence[str], chosen: str | None) -> tuple[Column | None, Column | None]:
    """Find the columns of times and of durations; None for a missing one. `chosen` may name the
    column of times. Raises `Unclear`."""
    times, durations = _time_columns([Column(i, n, unit_in(n)) for i, n in enumerate(names)])
    time = _named(names, "time", chosen) if chosen else next(iter(times), None)
    return time, next(iter(durations), None)


def _time_columns(free: Sequence[Column]) -> tuple[list[Column], list[Column]]:
    times = [c for c in free if _words(c.name) & _TIME and not _words(c.name) & (_NO_TIME | _RATE)]
    times.sort(key=lambda c: _words(c.name) == {"date"})  # a day alone tells little
    return times, [c for c in free if _words(c.name) & _DURATION and not _is_rate(c)]


class DelayColumn(NamedTuple):
    place: int
    name: str
    unit: str
    ms: float
    """Size of the unit in ms."""
    both_ways: bool
    """Whether it has round trips."""


def find_delay(names: Sequence[str], chosen: Mapping[str, str], side: Side) -> DelayColumn:
    """Find the column of a log with the delays of `side`. `chosen` may set ``delay`` to a column,
    by its name or its number from 1, ``of`` to ``round-trip`` or ``one-way``, and ``unit``. Raises
    `Unclear`."""
    if "delay" in chosen:
        column = _named(names, "delay", chosen["delay"])
    else:
        free = [Column(i, n, None) for i, n in enumerate(names)]
        other = _UP if side == "down" else _DOWN
        delays = [c for c in free if _words(c.name) & _DELAY and not _words(c.name) & _NO_DELAY]
        mine = [c for c in delays if not _words(c.name) & other]
        if not mine:
            raise Unclear(
                f"no name tells which column is the delay ({_listed(names)})", "delay=NAME"
            )
        if len(mine) > 1:
            several = _listed([c.name for c in mine])
            raise Unclear(f"several columns may be the delay ({several})", f"delay={mine[0].name}")
        column = mine[0]
    words = _words(column.name)
    unit = chosen.get("unit") or next((u for u in _DELAY_UNITS if u in words), "")
    if unit not in _DELAY_UNITS:
        known = ", ".join(_DELAY_UNITS)
        raise Unclear(f"no name tells the unit of {column.name!r} ({known})", "unit=ms")
    of = chosen.get("of", "round-trip" if words & _BOTH_WAYS else "")
    if not of and not words & _ONE_WAY:
        raise Unclear(f"{column.name!r} may be one way or a round trip", "of=round-trip")
    if of not in ("", "round-trip", "one-way"):
        raise Unclear(f"of={of} is neither round-trip nor one-way", "of=round-trip")
    return DelayColumn(column.place, column.name, unit, _DELAY_UNITS[unit], of == "round-trip")


def _named(names: Sequence[str], role: str, wanted: str) -> Column:
    for place, name in enumerate(names):
        if wanted.strip().lower() == name.strip().lower() or wanted == str(place + 1):
            return Column(place, name, unit_in(name))
    raise Unclear(f"{role}={wanted} is none of the columns ({_listed(names)})", f"{role}=NAME")


def _is_rate(column: Column) -> bool:
    words = _words(column.name)
    if words & {"speed", "rate"} and not words & (_UP | _DOWN):
        return column.unit is not None and column.unit.per_second
    return column.unit is not None or bool(words & _RATE) or words <= (_UP | _DOWN)


def _best(columns: Sequence[Column], side: str) -> Column:
    """Return the best of several columns: one with a unit, without a word such as ``total``, and
    with the fewest words in its name."""

    def rank(column: Column) -> tuple[bool, bool, int]:
        words = _words(column.name)
        return column.unit is None, bool(words & _ASIDE), len(words)

    ordered = sorted(columns, key=rank)
    if len(ordered) > 1 and rank(ordered[0]) == rank(ordered[1]):
        names = _listed([c.name for c in ordered])
        raise Unclear(f"several columns may be {side} ({names})", f"{side}={ordered[0].name}")
    return ordered[0]


def _listed(names: Iterable[str]) -> str:
    return ", ".join(list(names)[:_SHOWN])


def _words(name: str) -> frozenset[str]:
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return frozenset(re.findall(r"[a-z0-9]+", apart.lower()))
