"""The link's queues beside the kernel's, on the same arrivals.

    uv run python bench/link/aqm FOLDER [--sources FILE] [--write]

Arrivals at a line of 20 Mbit/s are recorded from loads in virtual time, and made from a seed. Each
is replayed through queues of the kernel (kernel.py) and through the link's model, ten times each
with other random numbers. FOLDER keeps the kernel's queues (two minutes of compiling) and the
recordings. `--sources` is a package or archive of the kernel's sources; without it Debian's is
fetched. `--write` writes docs/reference/aqm.{md,json,svg}.
"""

import argparse
import json
import struct
import subprocess
from collections.abc import Callable, Iterator, Sequence
from math import ceil, log
from pathlib import Path
from typing import Any

import msgspec
import variants
from arrivals import CHANGING, ECT0, ECT1, RATE_MBPS, THREE, Packet, arrivals
from kernel import blob, line, numbers
from msgspec import Struct, structs
from page import written
from variants import Queue

from dragstrip.model.aqm import Aqm, Codel, DualPi2, FqCodel, FqPie, Pie, Red

ROOT = Path(__file__).parents[3]
TIMES = 5
MOST = 1000
"""Packets that a queue holds; DualPI2's 10,000."""
ETHERNET = 14
RED = Red(min_bytes=15_000, max_bytes=75_000, max_share=0.1, weight=2**-9)

MARKS = FqCodel(ce_threshold_ms=1, ce_threshold_l4s=True)
MIXED = (ECT0, ECT1)


class Case(Struct, frozen=True):
    name: str
    arrivals: str
    aqm: Aqm
    ecn: tuple[int, ...] = ()
    """Code points of flow 0, 1 and so on, in turn. Without any the packets keep theirs."""


CASES = (
    Case("PIE", THREE, Pie(ecn=False)),
    Case("PIE, ECN", THREE, Pie(), (ECT0,)),
    Case("PIE", CHANGING, Pie(ecn=False)),
    Case("FQ-PIE", THREE, FqPie(ecn=False)),
    Case("FQ-PIE", CHANGING, FqPie(ecn=False)),
    Case("RED", THREE, RED),
    Case("RED", CHANGING, RED),
    Case("RED, ECN", CHANGING, structs.replace(RED, ecn=True)),
    Case("CoDel", THREE, Codel(ecn=False)),
    Case("CoDel, ECN", THREE, Codel(), (ECT0,)),
    Case("CoDel", CHANGING, Codel(ecn=False)),
    Case("FQ-CoDel", THREE, FqCodel(ecn=False)),
    Case("FQ-CoDel", CHANGING, FqCodel(ecn=False)),
    Case("FQ-CoDel, marks L4S above 1 ms", THREE, MARKS, MIXED),
    Case("DualPI2", THREE, DualPi2(), MIXED),
    Case("DualPI2", CHANGING, DualPi2()),
)


def options(aqm: Aqm) -> tuple[str, str]:
    """The kernel's name of a queue, and its options as netlink attributes. What is not given is the
    default on both sides."""
    match aqm:
        case FqPie():
            return "fq_pie", numbers([(1, MOST), (10, aqm.ecn)])
        case Pie():
            return "pie", numbers([(2, MOST), (6, aqm.ecn)])
        case FqCodel():
            given = [(2, MOST), (4, aqm.ecn)]
            if aqm.ce_threshold_ms is None:
                return "fq_codel", numbers(given)
            return "fq_codel", (
                numbers([*given, (7, round(aqm.ce_threshold_ms * 1e3))])
                + (blob(10, b"\1") + blob(11, b"\1") if aqm.ce_threshold_l4s else "")
            )
        case Codel():
            return "codel", numbers([(2, MOST), (4, aqm.ecn)])
        case DualPi2():
            return "dualpi2", numbers([(1, 10_000)])
        case Red():
            return "red", red_options(aqm)
    raise TypeError(aqm)


def red_options(red: Red) -> str:
    """Options as `tc` makes them. Weight and time of an average packet give the decay of an idle
    queue; `tc` counts that time in ticks of 64 ns, while the kernel takes them for microseconds."""
    w_log = round(-log(red.weight, 2))
    per_tick = -log(1 - red.weight) / ceil(1514 * 8e3 / RATE_MBPS / 64)
    cell_log = next(bits for bits in range(32) if 31 / per_tick / 2**bits < 512)
    decay = [min(31, int((cell << cell_log) * per_tick)) for cell in range(255)]
    limits = struct.pack("=III", MOST * 1514, red.min_bytes, red.max_bytes)
    parameters = limits + bytes([w_log, 0, cell_log, int(red.ecn)])
    return (
        blob(1, parameters)
        + blob(2, bytes([*decay, 31]))
        + numbers([(3, round(red.max_share * 2**32))])
    )


class Fate(Struct, frozen=True):
    at_ns: int
    waited_ns: int | None
    """None if the packet was dropped."""
    marked: bool
    ecn: int


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sources", type=Path)
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    folder = asked.folder.absolute()
    folder.mkdir(exist_ok=True)
    programs = {"kernel": line(folder / "kernel", asked.sources), "link": model()}
    kept = folder / "arrivals.json"
    if not kept.exists():
        kept.write_bytes(msgspec.json.encode(arrivals(folder)))
    known = msgspec.json.decode(kept.read_bytes(), type=dict[str, list[Packet]])
    found, reasons = [], {}
    for case in CASES:
        packets = coded(known[case.arrivals], case.ecn)
        found.append((case, both(case, packets, programs)))
        if case.name in DEVIATIONS and case.arrivals == CHANGING:
            reasons[f"{case.name}, {case.arrivals}"] = dict(explained(case, packets))
    written(found, reasons, ROOT / "docs" / "reference" / "aqm.md" if asked.write else None)


def coded(packets: Sequence[Packet], ecn: tuple[int, ...]) -> list[Packet]:
    if not ecn:
        return list(packets)
    return [(at, flow, ecn[flow % len(ecn)], size) for at, flow, _, size in packets]


def model() -> Path:
    build = ["scripts/cargo", "build", "--release", "--locked", "--package", "dragstrip-link"]
    subprocess.run([*build, "--example", "replay"], cwd=ROOT, check=True)
    return ROOT / "target" / "release" / "examples" / "replay"


def both(
    case: Case, packets: Sequence[Packet], programs: dict[str, Path]
) -> dict[str, list[list[Fate]]]:
    """The fates of all packets, of each time."""
    kind, given = options(case.aqm)
    rate = f"{RATE_MBPS * 1e6:.0f}"
    found: dict[str, list[list[Fate]]] = {"kernel": [], "link": []}
    for seed in range(1, TIMES + 1):
        commands = {
            "kernel": [kind, given, rate, str(seed)],
            "link": [configuration(case, seed)],
        }
        for side, words in commands.items():
            found[side].append(fates([str(programs[side]), *words], packets, side == "kernel"))
    return found


def configuration(case: Case, seed: int) -> str:
    off: dict[str, Any] = {"rate_mbps": None, "delay_ms": 0, "loss": 0, "queue_ms": None}
    down = off | {
        "rate_mbps": RATE_MBPS,
        "queue_packets": 10_000 if isinstance(case.aqm, DualPi2) else MOST,
        "aqm": msgspec.to_builtins(case.aqm),
    }
    return json.dumps({"seed": seed, "up": off, "down": down, "accounting": "l2"})


def fates(command: list[str], packets: Sequence[Packet], frames: bool) -> list[Fate]:
    """What became of all packets; `frames` says that bytes are those of Ethernet frames."""
    more = ETHERNET if frames else 0
    given = "\n".join(f"{at},{flow},{ecn},{size + more}" for at, flow, ecn, size in packets)
    said = subprocess.run(command, input=given, capture_output=True, text=True, check=True)
    left = {}
    for row in said.stdout.splitlines():
        index, waited, marked, cause = row.split(",")
        if cause == "-":
            left[int(index)] = (int(waited), marked == "1")
    return [
        Fate(at_ns, *left.get(index, (None, False)), ecn)
        for index, (at_ns, _, ecn, _) in enumerate(packets)
    ]


DEVIATIONS: dict[str, tuple[dict[str, str], Callable[[int, frozenset[str]], Queue]]] = {
    "PIE": (variants.PIE, lambda seed, does: variants.Pie(seed, does, ecn=False)),
    "DualPI2": (variants.DUALPI2, variants.DualPi2),
}


def explained(case: Case, packets: Sequence[Packet]) -> Iterator[tuple[str, list[list[Fate]]]]:
    """The fates of all packets under each deviation of the kernel from the RFC."""
    known, queue = DEVIATIONS[case.name]
    for told, deviations in variants.each(known):
        times = []
        for seed in range(1, TIMES // 2 + 1):
            made = variants.fates(packets, queue(seed, deviations), RATE_MBPS)
            pairs = zip(packets, made, strict=True)
            times.append(
                [Fate(at, waited, marked, ecn) for (at, _, ecn, _), (waited, marked) in pairs]
            )
        yield told, times


if __name__ == "__main__":
    main()
