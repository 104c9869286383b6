"""`dragstrip league`: ranks servers in every discipline."""

import sys
from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec
import typer
from msgspec import structs
from rich.console import Console
from rich.table import Table

from dragstrip.cli import exits
from dragstrip.cli.options import AsJson, DryRun
from dragstrip.cli.places import new_capsule, page_cache
from dragstrip.cli.run_options import takes_run_options
from dragstrip.cli.study.conduct import shown
from dragstrip.cli.study.dry_run import span
from dragstrip.conduct.options import RunOptions
from dragstrip.league.entries import Absent, Entry, entries
from dragstrip.league.plan import LeagueRequest, chosen, cost_of, options_of, study_of
from dragstrip.model.errors import InputError
from dragstrip.study.presets import find_stack
from dragstrip.study.servers import parse_server, stack_on


@takes_run_options(
    without=(
        *("virtual", "client", "restarts", "shard", "cluster", "admit_other_machines"),
        *("watch", "calibrate", "device"),
    ),
    computing=Annotated[
        bool | None,
        typer.Option(
            "--computing/--no-computing",
            help="Whether browser and server take time for what they compute, at a fixed price "
            "(default: they do not, so that the network alone decides).",
            show_default=False,
        ),
    ],
)
def league(
    family: Annotated[
        Literal["h1", "h2", "h3"], typer.Option(help="Protocol that all servers speak.")
    ] = "h3",
    scale: Annotated[
        str,
        typer.Option(
            help="paper (all), a share of the runs such as 0.25, small (five blocks of one page "
            "on one network per discipline), or smoke (one block of it, so no ranks)."
        ),
    ] = "paper",
    discipline: Annotated[
        list[str] | None,
        typer.Option(help="Run only this discipline. Repeatable (default: all)."),
    ] = None,
    page: Annotated[
        list[str] | None,
        typer.Option(
            help="Also load this page, such as a recording, in the disciplines of pages. "
            "Repeatable (default: none)."
        ),
    ] = None,
    server: Annotated[
        list[str] | None,
        typer.Option(
            help="Also rank your own server: the command that starts it, or NAME=COMMAND. "
            "Repeatable (default: none)."
        ),
    ] = None,
    stack: Annotated[
        list[str] | None,
        typer.Option(
            help="Also rank this stack of the family, such as h3+. Repeatable (default: none)."
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            help="Rank only this server, such as nginx, or stack. Repeatable (default: all that "
            "are installed)."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the schedule and of random loss.")] = 0,
    real_time: Annotated[
        bool, typer.Option("--real-time", help="Race in real time (default: virtual time).")
    ] = False,
    *,
    options: RunOptions,
    dry: DryRun = False,
    as_json: AsJson = False,
) -> int:
    """Rank servers in every discipline, or resume a league."""
    asked = LeagueRequest(
        family=family,
        scale=scale,
        disciplines=tuple(discipline or ()),
        pages=tuple(page or ()),
        seed=seed,
    )
    if real_time and options.computing is not None:
        raise InputError("--real-time: computing takes time as it does; omit --computing")
    options = structs.replace(
        options,
        computing=None if real_time else bool(options.computing),
        out=options.out or new_capsule(f"league-{family}"),
    )
    more = [find_stack(name) for name in stack or ()]
    if other := [s.name for s in more if s.protocol != family]:
        raise InputError(f"--stack {other[0]}: this league ranks servers over {family}")
    more += [stack_on(parse_server(text), family) for text in server or ()]
    found, absent = _only(entries(family, more), only or ())
    console = Console(stderr=True)
    plan(asked, found, options, console)
    if dry:
        return exits.DONE

    # Tables and figures load slowly; wrong input must not wait for them.
    from dragstrip.league.page import write
    from dragstrip.league.result import result
    from dragstrip.league.run import run
    from dragstrip.league.words import basis

    assert options.out
    with shown(options.out) as watcher:
        ran = run(
            asked,
            chosen(asked),
            found,
            options,
            page_cache(),
            absent=absent,
            conform=asked.conform,
            watcher=watcher,
            say=lambda line: console.print(line, highlight=False, markup=False),
        )
    answer = result(ran)
    drawn = write(answer, options.out)
    if as_json:
        text = msgspec.json.encode(answer)
        sys.stdout.buffer.write(msgspec.json.format(text, indent=2) + b"\n")
    for one in answer.disciplines:
        ranks = ", ".join(f"{s.name} {s.rank}" for s in one.standings) or one.said
        console.print(f"{one.title}: {ranks}", highlight=False, markup=False)
    console.print(f"{basis(answer)}\nleague: {drawn}", highlight=False, markup=False)
    return exits.DONE if all(not one.said for one in answer.disciplines) else exits.STAYED_INVALID


def _only(
    every: tuple[list[Entry], list[Absent]], names: Sequence[str]
) -> tuple[list[Entry], list[Absent]]:
    """Return the entries of these servers or stacks; all entries if no name is given. Raises
    `InputError`."""
    there, absent = every
    if not names:
        return every
    can = {name for e in there for name in (e.name, e.stack.server)}
    missing = {a.server: a.why for a in absent}
    for name in names:
        if name not in can:
            why = missing.get(name, f"choose from {', '.join(sorted(can))}")
            raise InputError(f"--only {name}: {why}")
    return [e for e in there if {e.name, e.stack.server} & set(names)], []


def plan(asked: LeagueRequest, found: list[Entry], options: RunOptions, console: Console) -> None:
    """Print the servers, and for each discipline the visits and time that are left."""
    assert options.out
    console.print(f"{len(found)} servers: {', '.join(e.name for e in found)}", highlight=False)
    table = Table(box=None, pad_edge=False)
    table.add_column("discipline", style="bold")
    for column in ("cells", "blocks per cell", "visits left", "time"):
        table.add_column(column, justify="right")
    visits, seconds = 0, 0.0
    for one in chosen(asked):
        study = study_of(one, found, asked, options, page_cache())
        cost = cost_of(study, options.out / one.name, options_of(one, options))
        visits, seconds = visits + cost.visits, seconds + cost.seconds
        cells = str(len(study.cells()))
        table.add_row(one.title, cells, str(one.runs), str(cost.visits), span(cost.seconds))
    console.print(table)
    console.print(
        f"left: {visits} visits, about {span(seconds)}; reruns, admission and conformance are "
        "extra",
        highlight=False,
    )
