"""BBR version 3 beside version 1, CUBIC, Prague and the kernel's senders, in virtual time.

    uv run python bench/protocols/bbr_versions.py FOLDER [SENDER...]

The load generator fetches large files over 20 Mbit/s: alone over a deep and a shallow queue and
with random loss, two of one sender, one beside the kernel's CUBIC, and two whose round trips
differ. Throughput is from a file's first byte to its last. Capsules go into FOLDER; the table is
written into docs/reference/bbr.md, above what bench/protocols/bbr.py measured, and its rows into
bbr-versions.json beside it. With names of senders only those load, and the other rows stay.
"""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

import msgspec
from msgspec import Struct, structs

import dragstrip
from dragstrip.model.background import Background
from dragstrip.model.effects import HostPath
from dragstrip.model.network import Network
from dragstrip.model.stack import Stack
from dragstrip.model.study import Client
from dragstrip.model.visit import Visit
from dragstrip.results.capsule import Capsule
from dragstrip.study.clients import loaded_by
from dragstrip.study.presets import find_stack
from dragstrip.study.spec import StudySpec

OUT = Path("docs/reference/bbr.md")
ROWS = OUT.with_name("bbr-versions.json")
BEGIN, END = "<!-- versions -->", "<!-- end of versions -->"
MEGABYTES = 10
SENDERS = {
    "QUIC, CUBIC": find_stack("h3"),
    "QUIC, BBR 1": structs.replace(find_stack("h3"), congestion="bbr"),
    "QUIC, BBR 3": find_stack("h3-bbr3"),
    "QUIC, Prague": find_stack("h3-l4s"),
    "TCP, CUBIC": find_stack("h2"),
    "TCP, BBR 1": structs.replace(find_stack("h2"), congestion="bbr"),
}
KERNELS = {"QUIC, CUBIC": "TCP, CUBIC", "QUIC, BBR 1": "TCP, BBR 1"}
"""The same congestion control of the kernel."""
LATER_MS = 40.0


class Case(Struct, frozen=True):
    name: str
    network: str
    flows: int = 1
    blocks: int = 1
    beside: bool = False
    """Whether a flow of the kernel's CUBIC runs at the same time."""
    unfair: bool = False
    """The second flow's round trip is longer."""


CASES = (
    Case("deep queue", "20mbit/20mbit/25ms/0%/200ms"),
    Case("shallow queue", "20mbit/20mbit/25ms/0%/12ms"),
    Case("random loss 1 %", "20mbit/20mbit/25ms/1%/100ms", blocks=3),
    Case("two flows", "20mbit/20mbit/25ms/0%/100ms", flows=2),
    Case("beside CUBIC", "20mbit/20mbit/25ms/0%/100ms", beside=True),
    Case("20 ms beside 100 ms", "20mbit/20mbit/10ms/0%/100ms", flows=2, unfair=True),
)


def main() -> None:
    folder = Path(sys.argv[1]).absolute()
    senders = sys.argv[2:] or list(SENDERS)
    known = msgspec.json.decode(ROWS.read_bytes(), type=list[Row]) if ROWS.exists() else []
    made = [row for case in CASES for row in measured(case, folder, senders)]
    kept = [row for row in known if row.sender not in senders]
    cases = [case.name for case in CASES]
    order = list(SENDERS)
    rows = sorted([*kept, *made], key=lambda row: (cases.index(row.case), order.index(row.sender)))
    ROWS.write_bytes(msgspec.json.format(msgspec.json.encode(rows), indent=1) + b"\n")
    text = OUT.read_text()
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    table = "\n".join([BEGIN, "", *page(rows), "", END])
    OUT.write_text(head + table + tail)
    print(table)


def network_of(case: Case) -> Network:
    network = structs.replace(Network.parse(case.network), name=case.name)
    if case.beside:
        network = structs.replace(network, background=(Background(lead_ms=2000),))
    if case.unfair:
        later = (HostPath(host="s2.synth.test", delay_ms=LATER_MS),)
        down, up = (structs.replace(way, hosts=later) for way in (network.down, network.up))
        network = structs.replace(network, down=down, up=up)
    return network


class Row(Struct):
    case: str
    sender: str
    mbps: list[float]
    """Rate of each flow, the median of the blocks."""
    beside_mbps: float | None
    queue_p50_ms: float
    queue_p99_ms: float
    lost: float
    """Share of packets that the queue dropped."""
    blocks: int


def measured(case: Case, folder: Path, senders: Sequence[str]) -> Iterator[Row]:
    out = folder / case.name.replace(" ", "-").replace("%", "percent")
    stacks: list[Stack] = [structs.replace(SENDERS[name], name=name) for name in senders]
    hosts = f"@{case.flows}" if case.flows > 1 else ""
    study = StudySpec(
        name="bbr-versions",
        pages=[f"synth:{case.flows}x{MEGABYTES}MB{hosts}"],
        networks=[network_of(case)],
        stacks=loaded_by(stacks, "loader"),
        runs=case.blocks,
        seed=1,
        client=Client(timeout_s=120),
        controls=False,
    ).resolve(folder / "pages")
    dragstrip.run(structs.replace(study, reruns=0), out=out, virtual=True, computing=False)
    visits = [v for v in Capsule.open(out).visits() if v.valid and v.link]
    for sender in senders:
        mine = [v for v in visits if v.stack == sender]
        downs = [v.link.down for v in mine if v.link]
        if not mine:
            continue
        flows = [flow_mbps(v) for v in mine]
        others = [mbps for v in mine if (mbps := beside_mbps(v)) is not None]
        yield Row(
            case=case.name,
            sender=sender,
            mbps=[median(of) for of in zip(*flows, strict=True)],
            beside_mbps=median(others) if others else None,
            queue_p50_ms=median(d.queue_p50_ms or 0.0 for d in downs),
            queue_p99_ms=median(d.queue_p99_ms or 0.0 for d in downs),
            lost=median(d.dropped_queue / d.packets_in for d in downs),
            blocks=len(mine),
        )


def flow_mbps(visit: Visit) -> list[float]:
    """Rate of each large file in Mbit/s, by host."""
    found = {}
    for request in visit.requests:
        if request.wire_bytes > 1_000_000 and request.response_start_ms and request.end_ms:
            seconds = (request.end_ms - request.response_start_ms) / 1000
            found[request.url] = request.wire_bytes * 8e-6 / seconds
    return [found[url] for url in sorted(found, reverse=True)]


def beside_mbps(visit: Visit) -> float | None:
    """Rate of the flow beside, with its slow start."""
    return next((b.sent_bytes * 8e-6 / b.seconds for b in visit.background), None)


def page(rows: Sequence[Row]) -> Iterator[str]:
    yield from (
        "`uv run python bench/protocols/bbr_versions.py FOLDER`: the load generator in virtual",
        f"time, the network alone; {MEGABYTES} MB a flow, Mbit/s. {sum(r.blocks for r in rows)}",
        "valid loads: one each, and three with random loss. Two flows stand side by side; `queue`",
        "is the wait of packets down, `dropped` the share that the queue dropped. `kernel` is the",
        "rate of all flows over that of the kernel's sender of that name.",
        "",
        "| case | sender | Mbit/s | kernel | CUBIC beside | queue, p50 | p99 | dropped |",
        "|---|---|---|---|---|---|---|---|",
    )
    total = {(row.case, row.sender): sum(row.mbps) for row in rows}
    for r in rows:
        beside = "" if r.beside_mbps is None else f"{r.beside_mbps:.2f}"
        rates = " and ".join(f"{mbps:.2f}" for mbps in r.mbps)
        theirs = total.get((r.case, KERNELS.get(r.sender, "")))
        kernel = f"{sum(r.mbps) / theirs:.2f}" if theirs else ""
        yield (
            f"| {r.case} | {r.sender} | {rates} | {kernel} | {beside} | {r.queue_p50_ms:.0f} ms | "
            f"{r.queue_p99_ms:.0f} ms | {r.lost:.2%} |"
        )


if __name__ == "__main__":
    main()
