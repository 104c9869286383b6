"""Congestion control in a guest beside the machine's own kernel: throughput of CUBIC and BBR.

    uv run python bench/virtual/throughput.py FOLDER [--runs N] [--write]

Chromium loads one object of 6 MB (two, from two hosts, where two flows share the link) over the
links of docs/reference/bbr.md, in real and in virtual time, with the same
seeds. Throughput is what large responses carried from the first byte to the last, of two flows
both together. Prints a row for each link and stack: the medians of both clocks, and virtual / real
with a 95 % interval over seeds. FOLDER keeps the capsules, so an interrupted bench goes on.
`--write` puts docs/reference/virtual-throughput.md there.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import polars as pl

import dragstrip
from dragstrip.stats.block_ratio import ratio

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "virtual-throughput.md"
STACKS = ("TCP+", "QUIC", "TCP+BBR", "QUIC+BBR")
ONE, TWO = "synth:1x6MB", "synth:2x6MB@2"
LINKS = {
    "deep queue": (ONE, "20mbit/20mbit/25ms/0%/200ms"),
    "shallow queue": (ONE, "20mbit/20mbit/25ms/0%/12ms"),
    "random loss 1 %": (ONE, "20mbit/20mbit/25ms/1%/100ms"),
    "two flows": (TWO, "20mbit/20mbit/25ms/0%/100ms"),
}
LARGE_BYTES = 1_000_000


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    text = "\n".join(page(asked.folder, asked.runs))
    print(text)
    if asked.write:
        PAGE.write_text(f"{text}\n")


def page(folder: Path, runs: int) -> Iterator[str]:
    yield "# Congestion control in a guest and on the machine"
    yield ""
    yield (
        f"`uv run python bench/virtual/throughput.py FOLDER --runs {runs} --write`: Mbit/s of loads"
        " of 6 MB a flow, medians of valid visits; virtual / real with 95 %"
        " intervals over seeds."
    )
    yield ""
    yield "| link | | stack | real time | virtual time | virtual / real | seeds |"
    yield "|---" * 7 + "|"
    for name, (spec, link) in LINKS.items():
        real, virtual = (raced(folder, name, spec, link, runs, clock) for clock in (False, True))
        both = real.join(virtual, on=["stack", "seed"], suffix="_virtual")
        for stack in STACKS:
            mine = both.filter(stack=stack)
            if mine.is_empty():
                yield f"| {name} | `{link}` | {stack} | - | - | - | 0 |"
                continue
            found = ratio(mine["mbps"].to_list(), mine["mbps_virtual"].to_list())
            said = f"{found.value:.3f}"
            if found.low is not None and found.high is not None:
                said += f" ({found.low:.3f} to {found.high:.3f})"
            middles = (f"{median(mine[c].to_list()):.2f}" for c in ("mbps", "mbps_virtual"))
            yield f"| {name} | `{link}` | {stack} | {' | '.join(middles)} | {said} | {found.n} |"


def raced(folder: Path, name: str, spec: str, link: str, runs: int, virtual: bool) -> pl.DataFrame:
    """Throughput of each valid visit: stack, seed, mbps."""
    out = folder / ("virtual" if virtual else "real") / name.replace(" ", "-").replace("%", "pct")
    made = dragstrip.race(
        [spec], networks=[link], stacks=STACKS, out=out, runs=runs, seed=1, virtual=virtual
    )
    key = ["block", "attempt", "stack"]
    large = made.requests().filter(pl.col("wire_bytes") > LARGE_BYTES)
    spans = large.group_by(key).agg(
        bits=pl.col("wire_bytes").sum() * 8,
        ms=pl.col("end_ms").max() - pl.col("response_start_ms").min(),
    )
    seeds = made.visits().filter("valid").select(*key, "seed")
    return spans.join(seeds, on=key).select(
        "stack", "seed", mbps=pl.col("bits") / pl.col("ms") / 1000
    )


if __name__ == "__main__":
    main()
