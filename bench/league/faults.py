"""Does the league rank a planted fault where it belongs?

    uv run python bench/league/faults.py FOLDER [--tries 20] [--jobs 2] [--client browser] [--write]

Two faults, each raced against two servers that are the same without it: a server that holds each
answer 20 ms, in the discipline of pages, and our origin ignoring priorities, in that of priorities.
A try is as many blocks as a league at `--scale small` has, with seeds of its own. It is right if
the fault comes last and the two others share the first rank. Virtual time without computing, by the
load generator, which takes a fraction of a browser's time. The held server is quic-go
(`dragstrip servers install quic-go`). Run again, it continues in FOLDER. Exits with 1 unless every
try is right. With `--write` the answer goes to docs/reference/league-faults.json.
"""

import argparse
import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import polars as pl
from msgspec import Struct, structs

from dragstrip.cli.places import page_cache
from dragstrip.conduct.options import RunOptions
from dragstrip.conduct.visits import make_visits
from dragstrip.league.disciplines import Discipline, known
from dragstrip.league.entries import Entry
from dragstrip.league.plan import LEAST_RUNS, LeagueRequest, study_of
from dragstrip.league.standings import Standing, standings
from dragstrip.model.servers import known as servers
from dragstrip.model.stack import Stack
from dragstrip.model.study import Study
from dragstrip.results.capsule import Capsule
from dragstrip.results.tables.build import refresh, scan
from dragstrip.study.presets import find_stack
from dragstrip.study.servers import parse_server, stack_on
from dragstrip.testbed.servers.packages import installed

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs" / "reference" / "league-faults.json"
HELD = ROOT / "tests" / "programs" / "held_answers.py"
PAGES = {"pages": "synth:12x10KB"}
"""A page that is quicker to load than the discipline's own."""


class Fault(Struct, kw_only=True):
    """A planted fault, and how often the league ranked it last."""

    planted: str
    discipline: str
    page: str
    network: str
    client: str
    tries: int
    right: int
    visits: int
    invalid: int
    ratios: list[float]
    """The fault's time as a share of the leader's, one per try."""


def main() -> None:
    asked = arguments()
    found = [
        rank("each answer held 20 ms", "pages", held(), asked),
        rank("priorities ignored", "priorities", deaf(), asked),
    ]
    text = msgspec.json.format(msgspec.json.encode(found), indent=2)
    print(text.decode())
    if asked.write:
        DOCS.write_bytes(text + b"\n")
    sys.exit(0 if all(one.right == one.tries for one in found) else 1)


def held() -> list[Stack]:
    """Equal, equal, held."""
    program = installed(servers()["quic-go"]) / "quic-go"
    words = [sys.executable, str(HELD), "SECONDS", str(program)]
    return [
        stack_on(
            parse_server(f"{name}={shlex.join(words).replace('SECONDS', wait)} {{config}}"), "h3"
        )
        for name, wait in (("first", "0"), ("second", "0"), ("fault", "0.02"))
    ]


def deaf() -> list[Stack]:
    """Equal, equal, ignoring priorities."""
    stack = find_stack("h3")
    return [
        structs.replace(stack, name="first"),
        structs.replace(stack, name="second"),
        structs.replace(stack, name="fault", priorities=False),
    ]


def rank(planted: str, name: str, stacks: Sequence[Stack], asked: argparse.Namespace) -> Fault:
    """Race the stacks in a discipline, and count the tries whose ranks are right."""
    discipline = small(name, asked)
    options = RunOptions(out=asked.folder / name, computing=False, jobs=asked.jobs)
    entries = [Entry(stack=stack, version="planted") for stack in stacks]
    study = study_of(discipline, entries, LeagueRequest(), options, page_cache())
    capsule_at = asked.folder / name
    make_visits(study, capsule_at, options)
    capsule = Capsule.open(capsule_at)
    refresh(capsule)
    tries = list(ranked(study, scan(capsule, "visits"), discipline.metric, asked.tries))
    visits = list(capsule.visits())
    return Fault(
        planted=planted,
        discipline=name,
        page=discipline.pages[0],
        network=discipline.networks[0],
        client=discipline.client,
        tries=len(tries),
        right=sum(map(right, tries)),
        visits=len(visits),
        invalid=sum(bool(visit.reasons) for visit in visits),
        ratios=[one.ratio or 0.0 for found in tries for one in found if "fault" in one.name],
    )


def small(name: str, asked: argparse.Namespace) -> Discipline:
    """The discipline as at `--scale small`, with the blocks of all tries."""
    (found,) = (d for d in known() if d.name == name)
    return structs.replace(
        found,
        pages=(PAGES.get(name, found.pages[0]),),
        networks=found.networks[:1],
        client=asked.client,
        runs=LEAST_RUNS * asked.tries,
    )


def ranked(study: Study, table: pl.LazyFrame, metric: str, tries: int) -> Iterator[list[Standing]]:
    """The standings of each try. A block's name ends with its number."""
    number = pl.col("block").str.split("|").list.last().cast(pl.Int64)
    for index in range(tries):
        own = table.filter(number // LEAST_RUNS == index)
        yield standings(study, own, metric)


def right(found: Sequence[Standing]) -> bool:
    """Whether the fault is last, and the others are not told apart."""
    ranks = {("fault" in one.name): set[str]() for one in found}
    for one in found:
        ranks["fault" in one.name].add(one.rank)
    return ranks == {True: {"3"}, False: {"1 to 2"}}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Rank planted faults.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tries", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--client", choices=["loader", "browser"], default="loader")
    parser.add_argument("--write", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    main()
