"""How often would each of the claims be answered, and how, in worlds that we made up?

    uv run python bench/claims_power.py [times] [--paper KEY]... [--write]

Every predicate is asked on made-up loads where its claim is true, false, on its edge, and just
within it: at 5 blocks and at the paper's own number, with log-normal loads and with loads of which
one in ten is late. Seeded. A wrong answer is "contradicted" or "equivalent" where the claim is
true, "reproduced" or "equivalent" where it is false, and the more frequent of both on the edge.
`--write`: the table goes to docs/reference/claims-power.json; it is printed as in claims-power.md.
"""

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from itertools import groupby
from pathlib import Path
from typing import get_args

import msgspec
from msgspec import Struct

from dragstrip.papers.claims import KEYS, published
from dragstrip.papers.simulate import Shape, places, simulate
from dragstrip.papers.worlds import worlds

DOCS = Path(__file__).parents[1] / "docs" / "reference" / "claims-power.json"
FEW = 5
TOO_OFTEN = 0.05


class Row(Struct, kw_only=True):
    claim: str
    kind: str
    """Of predicate."""
    loads: int
    shape: Shape
    world: str
    times: int
    right: float
    wrong: float
    answers: dict[str, int]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("times", type=int, nargs="?", default=200)
    parser.add_argument("--paper", action="append", choices=KEYS)
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    work = [
        (key, claim.id, asked.times)
        for key in asked.paper or KEYS
        for claim in published(key).claims
        if claim.predicate
    ]
    rows: list[Row] = []
    with ProcessPoolExecutor() as pool:
        for (_, claim, _), found in zip(work, pool.map(rows_of, work), strict=True):
            rows += found
            print(f"{claim}: wrong at most {max(r.wrong for r in found):.3f}", file=sys.stderr)
    table(rows)
    if asked.write:
        DOCS.write_bytes(msgspec.json.format(msgspec.json.encode(rows), indent=1) + b"\n")


def rows_of(work: tuple[str, str, int]) -> list[Row]:
    key, name, times = work
    paper = published(key)
    (claim,) = (c for c in paper.claims if c.id == name)
    predicate = claim.predicate
    if predicate is None:
        return []
    outlines = paper.outlines()
    where = places(outlines, paper.parts)
    found = []
    for loads in sorted({FEW, outlines[0].runs}):
        for shape in get_args(Shape):
            for world in worlds(predicate):
                tally = simulate(predicate, world, where, loads, times, shape=shape)
                found.append(
                    Row(
                        claim=name,
                        kind=type(predicate).__name__,
                        loads=loads,
                        shape=shape,
                        world=world.words(),
                        times=times,
                        right=tally.right,
                        wrong=tally.wrong,
                        answers=dict(tally.answers),
                    )
                )
    return found


def table(rows: list[Row]) -> None:
    """A line a claim: how often it is answered rightly, and its worst world."""
    print("| claim | predicate | true: reproduced | false: contradicted | wrong at most | where |")
    print("|---|---|---|---|---|---|")
    for claim, group in groupby(rows, key=lambda r: r.claim):
        own = list(group)
        worst = max(own, key=lambda r: r.wrong)
        true = [r for r in own if r.world == "true"]
        false = [r for r in own if r.world.startswith("false") and "alone" not in r.world]
        where = f"{worst.world}, {worst.loads} loads, {worst.shape}" if worst.wrong else ""
        print(
            f"| {claim} | {own[0].kind} | {span(true)} | {span(false)} | "
            f"{100 * worst.wrong:.1f} % | {where} |"
        )


def span(rows: list[Row]) -> str:
    """From the few loads to the paper's number, the worse of both shapes."""
    by_loads = {n: min(r.right for r in rows if r.loads == n) for n in {r.loads for r in rows}}
    return " to ".join(f"{100 * by_loads[n]:.0f}" for n in sorted(by_loads)) + " %" if rows else ""


if __name__ == "__main__":
    main()
