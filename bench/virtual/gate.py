"""Does the gate in virtual time find what was planted, and pass what is equal?

    uv run python bench/virtual/gate.py [tries] [--blocks N] [--load N] [--equal DRAGSTRIP]
        [--clock priced-2] [--out FOLDER] [--write]

Each try has its own seed. With it the demo page is raced over LTE, once as it is and once with one
thing changed behind the same names. Then `dragstrip compare` judges the two capsules. `--clock` is
the study's: `network`, where computing takes no time, or the default of `--virtual`. `--equal` is
the program of another checkout whose Rust parts were compiled with other options, so that it is
another build that does the same. `--load N` runs N busy loops at the same time. With `--write` the
table goes to docs/reference/virtual-gate.json, under the name of its clock.
"""

import argparse
import contextlib
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
from msgspec import Struct
from replays import busy

from dragstrip.model.clock import NETWORK, PRICED

DOCS = Path(__file__).parents[2] / "docs" / "reference" / "virtual-gate.json"
HERE = [sys.executable, "-c", "from dragstrip.cli import main; main()"]
STUDY = """
name = "gate"
pages = ["demo"]
networks = ["lte"]
stacks = ["tcp", "quic"]
runs = {blocks}
seed = {seed}
controls = false
clock = {{ kind = "{clock}" }}
[network.lte]
down = {{ rate_mbps = {rate}, delay_ms = {delay}, queue_ms = 200 }}
up = {{ rate_mbps = 2.8, delay_ms = 37, queue_ms = 200 }}
[stack.tcp]
base = "h2"
initial_window_packets = {window}
[stack.quic]
base = "h3"
initial_window_packets = {window}
"""
AS_IT_IS = {"rate": 10.5, "delay": 37, "window": 10, "seed": 0}
OTHER_SEEDS = 1000
PLANTED: dict[str, tuple[dict[str, float], str]] = {
    "rate 1 % less": ({"rate": 10.395}, "slower > 0.25%"),
    "round trip 1 ms longer": ({"delay": 38}, "slower > 0.25%"),
    "initial window one packet less": ({"window": 9}, "slower > 0.25%"),
    "answers held 20 us": ({"delay": 37.02}, "connect_to_request slower > 0.01%"),
    "nothing": ({}, "slower > 0.25%"),
    "nothing, as for 20 us": ({}, "connect_to_request slower > 0.01%"),
    "another seed": ({"seed": OTHER_SEEDS}, "slower > 1%"),
}
"""What is changed, and the condition it is judged by."""


class Row(Struct, kw_only=True):
    planted: str
    condition: str
    tries: int
    blocks: int
    failed: int = 0
    """Tries that the gate failed for at least one stack."""
    stacks: dict[str, int] = {}
    """Tries that it failed for this stack."""
    ratios: dict[str, list[float]] = {}
    """B / A of each try."""


def main() -> None:
    asked = arguments()
    rows = {
        name: Row(planted=name, condition=condition, tries=asked.tries, blocks=asked.blocks)
        for name, (change, condition) in PLANTED.items()
        if change or asked.equal
    }
    began = time.monotonic()
    with contextlib.ExitStack() as stack:
        kept = asked.out or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        stack.enter_context(busy(asked.load))
        pool = stack.enter_context(ThreadPoolExecutor(2))
        for said in pool.map(lambda seed: attempt(kept, seed, asked), range(asked.tries)):
            for name, ratios, failed in said:
                add(rows[name], ratios, failed)
            print(
                {n: f"{r.failed} of {len(next(iter(r.ratios.values())))}" for n, r in rows.items()},
                file=sys.stderr,
                flush=True,
            )
    table = {
        "page": "demo over LTE",
        "clock": asked.clock,
        "busy_loops": asked.load,
        "seconds": time.monotonic() - began,
        "rows": list(rows.values()),
    }
    text = msgspec.json.format(msgspec.json.encode(table), indent=2)
    print(text.decode())
    if asked.write:
        kept = msgspec.json.decode(DOCS.read_bytes()) | {asked.clock: table}
        DOCS.write_bytes(msgspec.json.format(msgspec.json.encode(kept), indent=2) + b"\n")


def attempt(
    kept: Path, seed: int, asked: argparse.Namespace
) -> list[tuple[str, dict[str, float], set[str]]]:
    """Results of each change: its name, B / A by stack, and the stacks that the gate failed."""
    base = race(HERE, kept / f"{seed}", "base", seed, {}, asked)
    said = []
    for name, (change, condition) in PLANTED.items():
        if not change and not asked.equal:
            continue
        program = HERE if change else [asked.equal]
        called = name.replace(" ", "-") if change else "equal"
        changed = race(program, kept / f"{seed}", called, seed, change, asked)
        found = compare(base, changed, condition)
        metric = "plt_ms" if condition.startswith("slower") else "connect_to_request_ms"
        ratios = {
            d["stack"]: d["ratio"]
            for d in found["differences"]
            if (d["metric"], d["statistic"]) == (metric, "median")
        }
        failed = {c["stack"] for c in found["conditions"] if c["verdict"] == "failed"}
        said.append((name, ratios, failed))
    return said


def race(
    program: list[str],
    folder: Path,
    name: str,
    seed: int,
    change: dict[str, float],
    asked: argparse.Namespace,
) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    study = folder / f"{name}.toml"
    values = AS_IT_IS | change
    values["seed"] += seed
    study.write_text(STUDY.format(blocks=asked.blocks, clock=asked.clock, **values))
    out = folder / name
    argv = [*program, "run", str(study), "--out", str(out), "--jobs", "1"]
    done = subprocess.run(argv, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(argv)} ended with {done.returncode}:\n{done.stderr}")
    return out


def compare(a: Path, b: Path, condition: str) -> dict[str, list[dict[str, object]]]:
    argv = [*HERE, "compare", str(a), str(b), "--fail-if", condition, "--json"]
    return msgspec.json.decode(subprocess.run(argv, capture_output=True, check=False).stdout)


def add(row: Row, ratios: dict[str, float], failed: set[str]) -> None:
    row.failed += bool(failed)
    for stack, ratio in ratios.items():
        row.stacks[stack] = row.stacks.get(stack, 0) + (stack in failed)
        row.ratios.setdefault(stack, []).append(ratio)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("tries", type=int, nargs="?", default=20)
    parser.add_argument("--blocks", type=int, default=1)
    parser.add_argument("--clock", default=NETWORK.kind, choices=[NETWORK.kind, PRICED.kind])
    parser.add_argument("--load", type=int, default=0, help="busy loops beside it")
    parser.add_argument("--equal", default="", help="program of another checkout")
    parser.add_argument("--out", type=Path, help="kept, and gone on with by the same command")
    parser.add_argument("--write", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    main()
