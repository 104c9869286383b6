"""The page of the link's queues beside the kernel's."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mean, median
from typing import Any

import altair
import msgspec
from msgspec import Struct

WAIT_SHARE, WAIT_MS = 0.10, 0.5
COUNT_SHARE, COUNT_PERCENT = 0.10, 0.5
"""Tolerance: whichever is larger."""
_BIN_MS = 100.0
Fates = Sequence[Sequence[Any]]
Found = Sequence[tuple[Any, Mapping[str, Fates]]]
Reasons = Mapping[str, Mapping[str, Fates]]
_BEGIN, _END = "<!-- measured -->", "<!-- end of measured -->"


class Row(Struct, kw_only=True):
    """Means over all times that a case was replayed, of one kind of senders."""

    queue: str
    arrivals: str
    senders: str
    kernel: dict[str, float]
    link: dict[str, float]

    def off(self) -> list[str]:
        """The figures that differ by more than the tolerance."""
        return [what for what in self.kernel if not near(what, self.kernel[what], self.link[what])]


def near(what: str, one: float, other: float) -> bool:
    share, least = (WAIT_SHARE, WAIT_MS) if what.endswith("ms") else (COUNT_SHARE, COUNT_PERCENT)
    return abs(one - other) <= max(least, share * max(one, other))


def figures(fates: Sequence[Any]) -> dict[str, float]:
    waits = sorted(fate.waited_ns / 1e6 for fate in fates if fate.waited_ns is not None)

    def at(share: float) -> float:
        return waits[min(int(share * len(waits)), len(waits) - 1)] if waits else 0.0

    return {
        "dropped %": 100 * (1 - len(waits) / len(fates)),
        "marked %": 100 * sum(fate.marked for fate in fates) / len(fates),
        "p50 ms": at(0.5),
        "p99 ms": at(0.99),
    }


def averaged(times: Iterable[Sequence[Any]]) -> dict[str, float]:
    each = [figures(fates) for fates in times]
    return {what: mean(one[what] for one in each) for what in each[0]}


_ALL: dict[str, Callable[[Any], bool]] = {"all": lambda _: True}
_TWO: dict[str, Callable[[Any], bool]] = {
    "L4S": lambda fate: fate.ecn & 1,
    "classic": lambda fate: not fate.ecn & 1,
}


def rows(found: Found) -> Iterator[Row]:
    for case, sides in found:
        kinds = _TWO if case.aqm.kind == "dualpi2" else _ALL
        for senders, mine in kinds.items():
            told = {
                side: averaged([list(filter(mine, fates)) for fates in times])
                for side, times in sides.items()
            }
            yield Row(queue=case.name, arrivals=case.arrivals, senders=senders, **told)


def table(all_rows: Iterable[Row]) -> Iterator[str]:
    yield "| queue | arrivals | senders | dropped, % | marked, % | wait p50, ms | wait p99, ms | |"
    yield "|---|---|---|---|---|---|---|---|"
    for row in all_rows:
        cells = [
            "-"
            if row.kernel[what] == row.link[what] == 0
            else f"{row.kernel[what]:.2f} / {row.link[what]:.2f}"
            for what in row.kernel
        ]
        off = ", ".join(what.split()[0] for what in row.off())
        yield f"| {row.queue} | {row.arrivals} | {row.senders} | {' | '.join(cells)} | {off} |"


def drawn(found: Found) -> altair.Chart:
    """Waits, and packets dropped or marked, by time: the first replay of each side."""
    points = []
    for case, sides in found:
        for side, times in sides.items():
            bins: dict[int, list[Any]] = defaultdict(list)
            for fate in times[0]:
                bins[int(fate.at_ns / 1e6 // _BIN_MS)].append(fate)
            met = 0
            for place, fates in sorted(bins.items()):
                waits = [fate.waited_ns / 1e6 for fate in fates if fate.waited_ns is not None]
                met += sum(fate.marked or fate.waited_ns is None for fate in fates)
                points.append(
                    {
                        "case": f"{case.name}: {case.arrivals}",
                        "s": place * _BIN_MS / 1e3,
                        "of": side,
                        "wait": median(waits) if waits else None,
                        "met": met,
                    }
                )
    names = [f"{case.name}: {case.arrivals}" for case, _ in found]

    def lines(name: str, field: str, title: str, last: bool) -> altair.Chart:
        mine = [point for point in points if point["case"] == name]
        return (
            altair.Chart(
                altair.Data(values=mine),
                title=name if field == "wait" else "",
                width=230,
                height=90,
            )
            .mark_line(strokeWidth=1.2)
            .encode(
                x=altair.X("s:Q", title="s" if last else None),
                y=altair.Y(f"{field}:Q", title=title),
                color=altair.Color("of:N", title=None, sort=["kernel", "link"]),
                strokeDash=altair.StrokeDash("of:N", legend=None, sort=["kernel", "link"]),
            )
        )

    cells = [
        altair.vconcat(
            lines(name, "wait", "wait, ms", False), lines(name, "met", "dropped or marked", True)
        )
        for name in names
    ]
    return altair.concat(*cells, columns=3)


def reasoned(reasons: Reasons, all_rows: Sequence[Row]) -> Iterator[str]:
    """A table for each case: with each deviation, and the kernel's own figures."""
    for name, variants in reasons.items():
        two = name.startswith("DualPI2")
        yield from ("", f"**{name}**", "")
        yield f"| deviation | {' | '.join(_heads(two))} |"
        yield "|---" * (1 + len(_heads(two))) + "|"
        for told, times in variants.items():
            each = [averaged([list(filter(mine, f)) for f in times]) for mine in _kinds(two)]
            yield f"| {told} | {' | '.join(f'{v:.2f}' for one in each for v in one.values())} |"
        mine = [row for row in all_rows if f"{row.queue}, {row.arrivals}" == name]
        for side in ("link", "kernel"):
            values = [v for row in mine for v in getattr(row, side).values()]
            yield f"| *the {side}* | {' | '.join(f'{v:.2f}' for v in values)} |"


def _kinds(two: bool) -> list[Callable[[Any], bool]]:
    return list((_TWO if two else _ALL).values())


def _heads(two: bool) -> list[str]:
    figures = ("dropped, %", "marked, %", "p50, ms", "p99, ms")
    names = [f"{senders}: " for senders in _TWO] if two else [""]
    return [name + figure for name in names for figure in figures]


def written(found: Found, reasons: Reasons, page: Path | None) -> None:
    all_rows = list(rows(found))
    text = "\n".join([*table(all_rows), *reasoned(reasons, all_rows)])
    print(text)
    if page is None:
        return
    head, _, rest = page.read_text().partition(_BEGIN)
    _, _, tail = rest.partition(_END)
    page.write_text(f"{head}{_BEGIN}\n\n{text}\n\n{_END}{tail}")
    page.with_suffix(".json").write_bytes(
        msgspec.json.format(msgspec.json.encode(all_rows), indent=1) + b"\n"
    )
    drawn(found).save(str(page.with_suffix(".svg")))
