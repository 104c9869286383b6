"""L4S in virtual time: a page beside bulk flows, and Prague beside CUBIC.

    uv run python bench/protocols/l4s.py FOLDER [CELL...]

First a page is loaded beside one bulk flow through three queues: droptail, CoDel and DualPI2. The
bulk flow is classic (the kernel's CUBIC) or L4S (Prague of our QUIC), and so is the page's sender.
Then one of each share DualPI2, over rates and round trips. Capsules go into FOLDER; the tables are
written into docs/results/l4s.md, and their rows into l4s.json. With cells, such as DualPI2/CUBIC or
20/50 (Mbit/s and ms), or stacks of them, such as 20/50/h3, only those are loaded, and the other
rows stay.
"""

import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from pathlib import Path

import msgspec
from msgspec import structs

import dragstrip
from dragstrip.model.aqm import Aqm, Codel, DualPi2
from dragstrip.model.background import Background
from dragstrip.model.network import Network
from dragstrip.model.stack import Stack
from dragstrip.model.study import Client
from dragstrip.model.visit import Visit
from dragstrip.results.capsule import Capsule
from dragstrip.study.clients import loaded_by
from dragstrip.study.presets import find_stack
from dragstrip.study.spec import StudySpec

OUT = Path("docs/results/l4s.md")
PAGE = "synth:24x20KB"
RATE_MBPS, RTT_MS = 20, 10
DEEP_MS = 200
"""Depth of every queue: what the discipline does not prevent."""
QUEUES: dict[str, Aqm | None] = {"droptail": None, "CoDel": Codel(), "DualPI2": DualPi2()}
CLASSIC = Background(kind="tcp", congestion="cubic", lead_ms=2500)
SCALABLE = Background(kind="quic", congestion="prague", lead_ms=2500)
BULK = {"CUBIC": (CLASSIC,), "Prague": (SCALABLE,)}
STACKS = ("h2", "h3", "h3-l4s")

RATES = (10, 20)
ROUND_TRIPS = (10, 20, 50)
LONG_MS = 5_000.0
TINY = "synth:1x10KB"
TINY_STACKS = ("h2", "h3")
FACTOR = 2.0
GOAL_MS = 2.0
FULL_BITS = 1500 * 8


def main() -> None:
    folder = Path(sys.argv[1]).absolute()
    cells = sys.argv[2:] or [*pairs(QUEUES, BULK), *pairs(RATES, ROUND_TRIPS)]
    rows = OUT.with_suffix(".json")
    known = msgspec.json.decode(rows.read_bytes(), type=Rows) if rows.exists() else Rows([], [])
    beside = [row for row in known.beside if not asked(row.cell, row.stack, cells)]
    shares = [row for row in known.shares if not asked(row.cell, row.beside, cells)]
    beside += page_beside_bulk(folder / "beside", cells)
    shares += prague_beside_cubic(folder / "shares", cells)
    order = pairs(QUEUES, BULK)
    found = Rows(
        sorted(beside, key=lambda row: (order.index(row.cell), row.stack)),
        sorted(shares, key=lambda row: (row.rate_mbps, row.rtt_ms)),
    )
    rows.write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n")
    OUT.write_text("\n".join([*page(found), ""]))
    print(OUT.read_text())


def asked(cell: str, stack: str, cells: Sequence[str]) -> bool:
    return cell in cells or f"{cell}/{stack}" in cells


def pairs(some: Iterable[object], others: Iterable[object]) -> list[str]:
    return [f"{one}/{other}" for one in some for other in others]


def network(
    name: str, rate_mbps: float, rtt_ms: float, aqm: Aqm | None, bulk: tuple[Background, ...]
) -> Network:
    plain = Network.parse(f"{rate_mbps:g}mbit/{rate_mbps:g}mbit/{rtt_ms / 2:g}ms/0%/{DEEP_MS}ms")
    return structs.replace(
        plain, name=name, down=structs.replace(plain.down, aqm=aqm), background=bulk
    )


def visits(
    out: Path, page: str, network: Network, stacks: Sequence[Stack], names: Sequence[str]
) -> list[Visit]:
    """Loads of those of `stacks` that have one of the names."""
    study = StudySpec(
        name=out.name,
        pages=[page],
        networks=[network],
        stacks=loaded_by(list(stacks), "loader"),
        runs=1,
        seed=1,
        client=Client(timeout_s=120),
        controls=False,
    ).resolve(out.parent / "pages")
    wanted = tuple(stack for stack in study.stacks if stack.name in names)
    one = structs.replace(study, stacks=wanted, reruns=0)
    dragstrip.run(one, out=out, virtual=True, computing=False)
    return list(Capsule.open(out).visits())


class Beside(msgspec.Struct):
    """A page beside a bulk flow."""

    queue: str
    bulk: str
    stack: str
    load_ms: float | None
    bulk_mbps: dict[str, float]
    wait_p50_ms: float
    wait_p99_ms: float
    l4s_p99_ms: float | None

    @property
    def cell(self) -> str:
        return f"{self.queue}/{self.bulk}"


def page_beside_bulk(out: Path, cells: Sequence[str]) -> Iterator[Beside]:
    stacks = [find_stack(name) for name in STACKS]
    for queue, bulk in product(QUEUES, BULK):
        names = [name for name in STACKS if asked(f"{queue}/{bulk}", name, cells)]
        if not names:
            continue
        one = network(f"{queue}, {bulk}", RATE_MBPS, RTT_MS, QUEUES[queue], BULK[bulk])
        for visit in visits(out / f"{queue}-{bulk}", PAGE, one, stacks, names):
            if not visit.valid or not visit.link:
                continue
            down = visit.link.down
            yield Beside(
                queue=queue,
                bulk=bulk,
                stack=visit.stack,
                load_ms=visit.plt_ms,
                bulk_mbps=bulk_mbps(visit),
                wait_p50_ms=down.queue_p50_ms or 0.0,
                wait_p99_ms=down.queue_p99_ms or 0.0,
                l4s_p99_ms=next(
                    (q.wait_p99_ms for q in down.queues if q.queue == "l4s" and q.packets), None
                ),
            )


def bulk_mbps(visit: Visit) -> dict[str, float]:
    """Rate of each kind of bulk flow in Mbit/s of layer 3, since it began."""
    down = visit.link.down if visit.link else None
    ends = (down.far_ends if down else None) or ()
    seconds = seconds_of(visit)
    kinds = {load.load.kind for load in visit.background}
    bulk = {
        "tcp": ("CUBIC", [e for e in ends if e.transport == "tcp" and e.port not in (80, 443)]),
        "quic": ("Prague", [e for e in ends if e.transport == "udp" and e.port != 443]),
    }
    # iperf3 has a second connection, for its commands.
    return {
        name: sum(end.bytes for end in its) * 8e-6 / seconds
        for kind, (name, its) in bulk.items()
        if kind in kinds
    }


def seconds_of(visit: Visit) -> float:
    """Time from the link's first packet to the visit's end: its slots with traffic."""
    course = visit.link.down.timeline if visit.link else None
    assert course
    first, *_ = course.slots[0]
    last, *_ = course.slots[-1]
    return (last - first + 1) * course.slot_us * 1e-6


class Share(msgspec.Struct):
    """Prague and CUBIC in one DualPI2."""

    rate_mbps: float
    rtt_ms: float
    prague_mbps: float
    cubic_mbps: float
    l4s_p99_ms: float
    classic_p99_ms: float
    beside: str
    """The stack of the tiny page that ends the load."""

    @property
    def cell(self) -> str:
        return f"{self.rate_mbps:g}/{self.rtt_ms:g}"

    @property
    def two_packets_ms(self) -> float:
        return 2 * FULL_BITS / self.rate_mbps / 1000

    @property
    def ratio(self) -> float:
        return self.prague_mbps / self.cubic_mbps


class Rows(msgspec.Struct):
    beside: list[Beside]
    shares: list[Share]
    note: str = ""
    """What is special about these rows; the next run drops it."""


def prague_beside_cubic(out: Path, cells: Sequence[str]) -> Iterator[Share]:
    both = tuple(structs.replace(load, lead_ms=LONG_MS) for load in (CLASSIC, SCALABLE))
    stacks = [find_stack(name) for name in TINY_STACKS]
    for rate, rtt in product(RATES, ROUND_TRIPS):
        names = [name for name in TINY_STACKS if asked(f"{rate}/{rtt}", name, cells)]
        if not names:
            continue
        one = network(f"{rate} Mbit/s, {rtt} ms", rate, rtt, DualPi2(), both)
        for visit in visits(out / f"{rate}-{rtt}", TINY, one, stacks, names):
            if not visit.valid or not visit.link:
                continue
            rates = bulk_mbps(visit)
            waits = {q.queue: q.wait_p99_ms for q in visit.link.down.queues}
            yield Share(
                rate_mbps=rate,
                rtt_ms=rtt,
                prague_mbps=rates["Prague"],
                cubic_mbps=rates["CUBIC"],
                l4s_p99_ms=waits["l4s"],
                classic_p99_ms=waits["classic"],
                beside=visit.stack,
            )


def goals(beside: Sequence[Beside], shares: Sequence[Share]) -> Iterator[str]:
    yield f"- The goal is {GOAL_MS:g} ms of wait for L4S packets, at the 99th percentile."
    for b in beside:
        if b.queue == "DualPI2" and b.stack == "h3-l4s" and b.l4s_p99_ms is not None:
            whose = "its" if b.bulk == "CUBIC" else "its and the bulk flow's"
            yield f"- An L4S page beside {b.bulk}: {whose} packets wait at most"
            yield f"  **{b.l4s_p99_ms:.2f} ms** in DualPI2's L4S queue."
    for name in dict.fromkeys(b.bulk for b in beside):
        loads = {b.stack: b.load_ms for b in beside if b.queue == "DualPI2" and b.bulk == name}
        told = ", ".join(f"{stack} {ms:.0f} ms" for stack, ms in loads.items() if ms is not None)
        if told:
            yield f"- A page in DualPI2 beside {name}: {told}."
    made = {b.cell for b in beside} | {s.cell for s in shares}
    missing = [c for c in (*pairs(QUEUES, BULK), *pairs(RATES, ROUND_TRIPS)) if c not in made]
    if missing:
        yield f"- Not measured: {', '.join(missing)}"
        yield "  (queue/bulk flow; Mbit/s/ms where Prague and CUBIC share DualPI2)."
    if not shares:
        return
    for rate in dict.fromkeys(s.rate_mbps for s in shares):
        its = [s for s in shares if s.rate_mbps == rate]
        worst = max(s.l4s_p99_ms for s in its)
        two_ms = its[0].two_packets_ms
        yield f"- Beside CUBIC over {rate:g} Mbit/s: Prague's packets wait at most"
        yield f"  **{worst:.2f} ms**, its startup included. Two packets take {two_ms:.1f} ms."
    fair = sum(1 / FACTOR <= s.ratio <= FACTOR for s in shares)
    yield f"- Prague and CUBIC are within a factor of {FACTOR:g} of each other in"
    yield f"  **{fair} of {len(shares)}** loads."


def page(rows: Rows) -> Iterator[str]:
    beside, shares = rows.beside, rows.shares
    yield from (
        "# L4S: a page beside bulk flows, and Prague beside CUBIC",
        "",
        "`uv run python bench/protocols/l4s.py FOLDER`: the load generator in virtual time, the",
        f"network alone; {len(beside) + len(shares)} valid visits.",
        "",
        "Prague is our QUIC's ([stacks](../reference/stack.md)): its packets are ECT(1), and the",
        "client's ACK_ECN counts tell of marks. Linux has no TCP Prague, and the guest's kernel no",
        "DCTCP, so TCP is classic here. CUBIC is the kernel's, without ECN.",
        "",
    )
    yield from goals(beside, shares)
    if rows.note:
        yield f"- {rows.note}"
    yield from (
        "",
        "## A page beside bulk flows",
        "",
        f"`{PAGE}` over {RATE_MBPS} Mbit/s and {RTT_MS} ms, with {DEEP_MS} ms of queue. The bulk",
        "flow runs for 2.5 s before. Waits are of all packets down since it began, its slow start",
        "included. `bulk` is its rate in that time.",
        "",
        "| queue | bulk flow | page | load | bulk | wait, p50 | p99 | L4S queue, p99 |",
        "|---|---|---|---|---|---|---|---|",
    )
    for b in beside:
        bulk = ", ".join(f"{what} {mbps:.1f}" for what, mbps in b.bulk_mbps.items())
        load = "-" if b.load_ms is None else f"{b.load_ms:.0f} ms"
        l4s = "-" if b.l4s_p99_ms is None else f"{b.l4s_p99_ms:.2f} ms"
        yield (
            f"| {b.queue} | {b.bulk} | {b.stack} | {load} | {bulk} Mbit/s | "
            f"{b.wait_p50_ms:.1f} ms | {b.wait_p99_ms:.1f} ms | {l4s} |"
        )
    if not shares:
        return
    yield from (
        "",
        "## Prague beside CUBIC",
        "",
        f"One flow each through DualPI2, {LONG_MS / 1000:g} s from the beginning of both.",
        "",
        "Two packets: what they take on the line, so what a packet waits for two others.",
        "",
        "| rate | round trip | Prague | CUBIC | Prague / CUBIC | L4S queue, p99 | two packets | "
        "classic, p99 |",
        "|---|---|---|---|---|---|---|---|",
    )
    for s in shares:
        yield (
            f"| {s.rate_mbps:g} Mbit/s | {s.rtt_ms:g} ms | {s.prague_mbps:.2f} | "
            f"{s.cubic_mbps:.2f} | {s.ratio:.2f} | {s.l4s_p99_ms:.2f} ms | "
            f"{s.two_packets_ms:.1f} ms | {s.classic_p99_ms:.1f} ms |"
        )


if __name__ == "__main__":
    main()
