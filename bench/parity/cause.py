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
from unittest import mock

from figures import NETWORKS
from msgspec import structs

import dragstrip
from dragstrip.model.network import Network
from dragstrip.model.stack import Stack
from dragstrip.model.study import Client, Study
from dragstrip.model.visit import Visit
from dragstrip.results.capsule import Capsule
from dragstrip.stats.block_ratio import matched, ratio
from dragstrip.study.presets import find_stack
from dragstrip.study.spec import StudySpec
from dragstrip.testbed.programs import PROGRAMS
from dragstrip.visit.metrics import object_times

NETWORK = "10 ms, no rate limit"
BLOCKS = 4
"""Blocks of a turn."""
VIRTUAL_BLOCKS = 5
NOW = "as it is"
VIRTUAL = "in virtual time"
REFERENCE = "TCP+"
OUT = Path("docs/reference")
KEPT = Path(".cache/parity-cause")
"""The capsules: what was measured is not measured again."""


def main() -> None:
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else 8
    builds = {NOW: ""} | dict(build.split("=", 1) for build in sys.argv[2:])
    seen: dict[str, list[Visit]] = {build: [] for build in builds}
    for turn in range(turns):
        for build, programs in builds.items():
            with mock.patch.dict(os.environ, {PROGRAMS: programs} if programs else {}):
                seen[build] += visits(study(turn, BLOCKS), KEPT / f"{build}-{turn}")
    seen[VIRTUAL] = visits(study(0, VIRTUAL_BLOCKS), KEPT / VIRTUAL, virtual=True)
    rows = [row for build, made in seen.items() for row in told(build, made)]
    found = {"turns": turns, "rows": rows}
    (OUT / "parity-cause.json").write_text(json.dumps(found, indent=1) + "\n")
    (OUT / "parity-cause.md").write_text("\n".join([*page(found), ""]))
    print("\n".join(page(found)))


def study(seed: int, blocks: int) -> Study:
    made = StudySpec(
        name="parity-cause",
        pages=["synth:1x1MB"],
        networks=[structs.replace(Network.parse(NETWORKS[NETWORK]), name=NETWORK)],
        stacks=stacks(),
        runs=blocks,
        seed=seed + 1,
        client=Client(),
    ).resolve(KEPT.absolute() / "pages")
    return structs.replace(made, reruns=0)


def stacks() -> list[Stack]:
    quic = find_stack("QUIC")
    often = structs.replace(quic, name="QUIC, acknowledged like TCP", ack_every_packets=2)
    return [find_stack(REFERENCE), quic, often]


def visits(asked: Study, out: Path, *, virtual: bool = False) -> list[Visit]:
    dragstrip.run(asked, out=out, virtual=virtual)
    return list(Capsule.open(out).visits())


def told(build: str, made: Sequence[Visit]) -> Iterable[dict[str, Any]]:
    """One row per stack, of valid visits."""
    valid = {
        stack.name: [v for v in made if v.valid and v.stack == stack.name] for stack in stacks()
    }
    times = {stack: dict(map(timed, mine)) for stack, mine in valid.items()}
    for stack, mine in valid.items():
        pairs = matched(times[REFERENCE], times[stack])
        found = ratio(*pairs) if pairs[0] else None
        yield {
            "build": build,
            "stack": stack,
            "visits": sum(v.stack == stack for v in made),
            "valid": len(mine),
            "ms": middle(times[stack].values()),
            "ratio": found and [found.value, found.low, found.high],
            "packets_up": middle(v.link.up.packets_out for v in mine if v.link),
            "browser_cpu_s": middle(v.host.browser_cpu_s for v in mine if v.host),
            "origin_cpu_s": middle(v.host.origin_cpu_s for v in mine if v.host),
            "link_cpu_s": middle(v.host.link_cpu_s for v in mine if v.host),
            "reasons": dict(
                Counter(c for v in made if v.stack == stack for c in {r.code for r in v.reasons})
            ),
        }


def timed(visit: Visit) -> tuple[str, float]:
    """The block's seed, and ms from the object's request to its last byte."""
    [took_ms] = [o.sent_ms for o in object_times(visit) if o.url.endswith(".png")]
    assert took_ms is not None
    return str(visit.seed), took_ms


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
        "visit, page and handshake included. In virtual time computing takes none, so what is left",
        "of the lead there is the protocols'. Chromium ignores requests to acknowledge otherwise",
        "(`stack-drift`), so acknowledgements could not be varied alone.",
        "",
        "| origin | stack | valid | request to last byte | ratio | packets up | CPU: browser "
        "| origin | link |",
        "|---" * 9 + "|",
    )
    for row in found["rows"]:
        value = "" if row["stack"] == REFERENCE or not row["ratio"] else in_words(*row["ratio"])
        cpu = (row["browser_cpu_s"], row["origin_cpu_s"], row["link_cpu_s"])
        yield (
            f"| {row['build']} | {row['stack']} | {row['valid']} of {row['visits']}{why(row)} "
            f"| {told_as('{:.1f} ms', row['ms'])} | {value} "
            f"| {told_as('{:.0f}', row['packets_up'])} | "
            + " | ".join(told_as("{:.0f} ms", None if s is None else s * 1000) for s in cpu)
            + " |"
        )


def in_words(ratio: float, low: float | None, high: float | None) -> str:
    between = "too few blocks for an interval" if low is None else f"{low:.3f} to {high:.3f}"
    return f"{ratio:.3f} ({between})"


def why(row: dict[str, Any]) -> str:
    """Why some are invalid, if any are."""
    reasons = ", ".join(f"{code} {n}" for code, n in row["reasons"].items())
    return f" ({reasons})" if reasons else ""


def told_as(form: str, value: float | None) -> str:
    return "-" if value is None else form.format(value)


if __name__ == "__main__":
    main()
