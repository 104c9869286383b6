"""Why is 1 MB without a rate limit slower over TCP than over QUIC? One suspect at a time.

    uv run python bench/parity/cause.py [turns, default 8] [NAME=FOLDER...]

Chromium loads one object of 1 MB over 10 ms without a rate limit, as in `bench/parity`, over TCP+,
QUIC, and QUIC whose client acknowledges every second packet as the kernel does. Each turn makes
four blocks; `NAME=FOLDER` gives turns to the programs of another build, whose origin differs in one
thing. A last row is the same in virtual time, where computing takes none. Writes parity-cause.md
and parity-cause.json into docs/reference.
"""

import json
import os
import statistics
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from msgspec import structs

import dragstrip
from dragstrip.model.network import Network
from dragstrip.model.stack import Stack
from dragstrip.model.study import Client, Study
from dragstrip.model.visit import Visit
from dragstrip.results.capsule import Capsule
from dragstrip.stats.block_ratio import matched, ratio
from dragstrip.study.file import make_study
from dragstrip.study.presets import find_stack
from dragstrip.testbed.programs import PROGRAMS

NETWORK = "unlimited/unlimited/5ms/0%/unbounded"
BLOCKS = 4
"""Of a turn."""
VIRTUAL_BLOCKS = 5
NOW = "as it is"
VIRTUAL = "in virtual time"
REFERENCE = "TCP+"
OUT = Path("docs/reference")
KEPT = Path(".cache/parity-cause")
"""The capsules: what was measured is not measured again."""


def main() -> None:
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else 8
    builds = {NOW: os.environ.get(PROGRAMS, "")} | dict(b.split("=", 1) for b in sys.argv[2:])
    seen: dict[str, list[Visit]] = {build: [] for build in builds}
    for turn in range(turns):
        for number, (build, programs) in enumerate(builds.items()):
            if programs:
                os.environ[PROGRAMS] = programs
            else:
                os.environ.pop(PROGRAMS, None)
            seen[build] += visits(study(turn, BLOCKS), KEPT / f"{turn}-{number}")
    if programs := builds[NOW]:
        os.environ[PROGRAMS] = programs
    seen[VIRTUAL] = visits(study(0, VIRTUAL_BLOCKS), KEPT / "virtual", virtual=True)
    rows = [row for build, made in seen.items() for row in told(build, made)]
    found = {"turns": turns, "rows": rows}
    (OUT / "parity-cause.json").write_text(json.dumps(found, indent=1) + "\n")
    (OUT / "parity-cause.md").write_text("\n".join([*page(found), ""]))
    print("\n".join(page(found)))


def study(seed: int, blocks: int) -> Study:
    made = make_study(
        name="parity-cause",
        pages=["synth:1x1MB"],
        networks=[structs.replace(Network.parse(NETWORK), name="10 ms, no rate limit")],
        stacks=stacks(),
        runs=blocks,
        seed=seed + 1,
        client=Client(),
        cache=KEPT.absolute() / "pages",  # a guest has another current folder
    )
    return structs.replace(made, reruns=0)


def stacks() -> list[Stack]:
    quic = find_stack("QUIC")
    often = structs.replace(quic, name="QUIC, acknowledged like TCP", ack_every_packets=2)
    return [find_stack(REFERENCE), quic, often]


def visits(asked: Study, out: Path, *, virtual: bool = False) -> list[Visit]:
    dragstrip.run(asked, out=out, virtual=virtual)
    return list(Capsule.open(out).visits())


def told(build: str, made: Sequence[Visit]) -> Iterable[dict[str, Any]]:
    """A row for each stack, of valid visits."""
    times = {
        stack.name: {
            str(v.seed): ms
            for v in made
            if v.valid and v.stack == stack.name and (ms := took_ms(v)) is not None
        }
        for stack in stacks()
    }
    for stack, mine in times.items():
        valid = [v for v in made if v.valid and v.stack == stack]
        pairs = matched(times[REFERENCE], mine)
        found = ratio(*pairs) if pairs[0] else None
        yield {
            "build": build,
            "stack": stack,
            "visits": sum(v.stack == stack for v in made),
            "valid": len(valid),
            "ms": middle(mine.values()),
            "ratio": found and [found.value, found.low, found.high],
            "packets_up": middle(v.link.up.packets_out for v in valid if v.link),
            "browser_cpu_s": middle(v.host.browser_cpu_s for v in valid if v.host),
            "origin_cpu_s": middle(v.host.origin_cpu_s for v in valid if v.host),
            "link_cpu_s": middle(v.host.link_cpu_s for v in valid if v.host),
            "reasons": dict(Counter(r.code for v in made if v.stack == stack for r in v.reasons)),
        }


def took_ms(visit: Visit) -> float | None:
    """From the object's request to its last byte."""
    [asked] = [r for r in visit.requests if r.url.endswith(".png")]
    if asked.send_start_ms is None or asked.end_ms is None:
        return None
    return asked.end_ms - asked.send_start_ms


def middle(values: Iterable[float | None]) -> float | None:
    """The median of those that were measured; None if none was."""
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def page(found: dict[str, Any]) -> Iterable[str]:
    yield from (
        "# Why QUIC is faster than TCP where computing decides",
        "",
        f"`uv run python bench/parity/cause.py {found['turns']} [NAME=FOLDER...]`: one object of",
        "1 MB over 10 ms without a rate limit, first visits, builds in turns. Medians of valid",
        "visits; ratios to TCP+ in the same block, with 95 % intervals. CPU time is of the whole",
        "visit, page and handshake included.",
        "",
        "| origin | stack | valid | request to last byte | ratio | packets up | CPU: browser "
        "| origin | link |",
        "|---" * 9 + "|",
    )
    for row in found["rows"]:
        compared = row["ratio"] if row["stack"] != REFERENCE else None
        value = "" if compared is None else "{:.3f} ({:.3f} to {:.3f})".format(*compared)
        cpu = (row["browser_cpu_s"], row["origin_cpu_s"], row["link_cpu_s"])
        yield (
            f"| {row['build']} | {row['stack']} | {row['valid']} of {row['visits']} "
            f"| {told_as('{:.1f} ms', row['ms'])} | {value} "
            f"| {told_as('{:.0f}', row['packets_up'])} | "
            + " | ".join(told_as("{:.0f} ms", None if s is None else s * 1000) for s in cpu)
            + " |"
        )


def told_as(form: str, value: float | None) -> str:
    return "-" if value is None else form.format(value)


if __name__ == "__main__":
    main()
