"""How often would each of the claims be answered, and how, in worlds that we made up?

    uv run python packages/papers/bench/claims_power.py [CLAIM]... [--minutes N] [--again] [--write]

Every predicate answers made-up loads in which its claim is true, false, on its edge, and just
within it. The loads are log-normal, or one in ten is late; there are 5 blocks, or the paper's own
number. A wrong answer is "contradicted" or "equivalent" where the claim is true, "reproduced" or
"equivalent" where it is false, and the more frequent of both on the edge.

Each world is asked `FIRST` times. If `SUSPECT` of these answers are wrong, it is asked `MANY` times
again with another seed, and only those count. Seeded: the same code gives the same table.

A claim's rows are kept in .cache/claims-power as soon as they are there, so that the same command
resumes. `--again` makes the named claims again. `--write`: the table goes to
docs/reference/claims-power.md and .json; a claim that was not made here keeps its rows there.
"""

import argparse
import sys
import time
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import get_args

import msgspec
from msgspec import Struct

from dragstrip_papers.claims import KNOWN, Claim, Published, published
from dragstrip_papers.deciding import direction
from dragstrip_papers.predicates import AnyPredicate
from dragstrip_papers.reached import looks_at
from dragstrip_papers.worlds.made import Place, World, worlds
from dragstrip_papers.worlds.simulate import Shape, Tally, places, simulate

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs" / "reference" / "claims-power"
KEPT = ROOT / ".cache" / "claims-power"
FEW = 5
FIRST, SUSPECT = 100, 4
MANY, MANY_OF_LARGE = 1000, 400
LARGE = 100
"""A claim about more cells than this is asked less often."""
SEED = 18
TOO_OFTEN = 0.05
SELDOM = 0.2
"""A claim that is answered less often than this at the paper's number of loads is as good as
unanswerable."""


class Row(Struct, kw_only=True):
    claim: str
    kind: str
    """Kind of the predicate."""
    loads: int
    shape: Shape
    world: str
    times: int
    right: float
    wrong: float
    answers: dict[str, int]


class Piece(Struct, kw_only=True):
    rules: str
    """Version of the rules that answered."""
    rows: list[Row]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("claim", nargs="*", help="by id, or a paper's key; all without one")
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    until = time.monotonic() + 60 * asked.minutes
    KEPT.mkdir(parents=True, exist_ok=True)
    for paper, claim in wanted(asked.claim):
        file = KEPT / f"{claim.id}.json"
        if file.exists() and not asked.again:
            continue
        if time.monotonic() > until:
            print("the time is up; the same command goes on from here", file=sys.stderr)
            break
        began = time.process_time()
        rows = rows_of(paper, claim)
        file.write_bytes(msgspec.json.encode(Piece(rules=paper.rules, rows=rows)))
        worst = max((r.wrong for r in rows), default=0.0)
        took = time.process_time() - began
        print(f"{claim.id}: wrong at most {worst:.3f} ({took:.0f} s)", file=sys.stderr)
    if asked.write:
        write()


def wanted(names: list[str]) -> Iterator[tuple[Published, Claim]]:
    """The named claims that have a predicate."""
    for paper in map(published, KNOWN):
        for claim in paper.claims:
            named = not names or claim.id in names or paper.key in names
            if named and claim.predicate:
                yield paper, claim


def rows_of(paper: Published, claim: Claim) -> list[Row]:
    """The claim's rows in all its worlds, and the rows of its direction in that direction's own
    worlds."""
    if claim.predicate is None:
        return []
    specs = paper.specs()
    everywhere = places(specs, paper.parts)
    rows = []
    for name, predicate in sides(claim.predicate):
        where = [p for p in everywhere if looks_at(predicate, p.field)]
        studies = {place.study for place in where}
        runs = max((o.runs for o in specs if o.name in studies), default=specs[0].runs)
        rows += [
            Row(
                claim=claim.id,
                kind=type(claim.predicate).__name__,
                loads=loads,
                shape=shape,
                world=f"{name}{world.words()}",
                times=tally.made,
                right=tally.right,
                wrong=tally.wrong,
                answers=dict(tally.answers),
            )
            for loads in sorted({FEW, runs})
            for shape in get_args(Shape)
            for world in worlds(predicate)
            for tally in [tried(predicate, world, where, loads, shape)]
        ]
    return rows


def sides(predicate: AnyPredicate) -> Iterator[tuple[str, AnyPredicate]]:
    """The predicate, and its direction if the two differ."""
    yield "", predicate
    way = direction(predicate)
    if way is not None and way != predicate:
        yield "direction, ", way


def tried(
    predicate: AnyPredicate, world: World, where: list[Place], loads: int, shape: Shape
) -> Tally:
    first = simulate(predicate, world, where, loads, FIRST, shape=shape, seed=SEED)
    if first.wrong * FIRST < SUSPECT:
        return first
    times = MANY_OF_LARGE if len(where) > LARGE else MANY
    return simulate(predicate, world, where, loads, times, shape=shape, seed=SEED + 1)


def write() -> None:
    """Write the table from all pieces that exist."""
    rules = {key: published(key).rules for key in KNOWN}
    written = msgspec.json.decode(DOCS.with_suffix(".json").read_bytes(), type=list[Row])
    rows: list[Row] = []
    for paper, claim in wanted([]):
        file = KEPT / f"{claim.id}.json"
        if file.exists():
            piece = msgspec.json.decode(file.read_bytes(), type=Piece)
            if piece.rules != rules[paper.key]:
                print(f"{claim.id} was made by older rules: --again makes it anew", file=sys.stderr)
            own = piece.rows
        else:
            own = [row for row in written if row.claim == claim.id]
        if not own:
            sys.exit(f"{claim.id} is not there yet: run it first")
        rows += own
    DOCS.with_suffix(".json").write_bytes(
        msgspec.json.format(msgspec.json.encode(rows), indent=0) + b"\n"
    )
    head, _, _ = DOCS.with_suffix(".md").read_text().partition("| claim |")
    DOCS.with_suffix(".md").write_text(head + "\n".join(table(rows)) + "\n")
    for row in rows:
        if row.wrong > TOO_OFTEN:
            print(f"too often wrong: {row.claim} {row.world} {row.loads} {row.shape} {row.answers}")
        if row.right < SELDOM and row.loads > FEW and row.world in ("true", "false"):
            print(f"seldom answered: {row.claim} {row.world} {row.shape} {row.answers}")


def table(rows: list[Row]) -> Iterator[str]:
    """One line per claim: how often it is answered rightly, and its worst world."""
    yield "| claim | predicate | true: reproduced | false: contradicted | wrong at most | where |"
    yield "|---|---|---|---|---|---|"
    for claim, group in groupby(rows, key=lambda r: r.claim):
        own = list(group)
        worst = max(own, key=lambda r: r.wrong)
        true = [r for r in own if r.world == "true"]
        false = [r for r in own if r.world.startswith("false") and "alone" not in r.world]
        where = f"{worst.world}, {worst.loads} loads, {worst.shape}" if worst.wrong else ""
        yield (
            f"| {claim} | {own[0].kind} | {span(true)} | {span(false)} | "
            f"{100 * worst.wrong:.1f} % of {worst.times} | {where} |"
        )


def span(rows: list[Row]) -> str:
    """Range from the few loads to the paper's number, the worse of both shapes."""
    by_loads = {n: min(r.right for r in rows if r.loads == n) for n in {r.loads for r in rows}}
    return " to ".join(f"{100 * by_loads[n]:.0f}" for n in sorted(by_loads)) + " %" if rows else ""


if __name__ == "__main__":
    main()
