"""`dragstrip run STUDY --dry-run`: says what a study costs, without running it."""

from rich.console import Console
from rich.table import Table

from dragstrip.cli import exits
from dragstrip.conduct.options import RunOptions
from dragstrip.execution.by_clock import concurrency_of
from dragstrip.execution.concurrency import Concurrency
from dragstrip.model.addresses import told
from dragstrip.model.study import Study
from dragstrip.model.units import plain
from dragstrip.results.capsule import MANIFEST, Capsule
from dragstrip.schedule.schedule import Schedule


def dry_run(study: Study, options: RunOptions) -> int:
    """Print blocks, networks and the expected time of visits that the result folder lacks. Raises
    `InputError`."""
    jobs, mine = options.jobs_here(study.clock), options.belongs(study)
    out = options.out
    there = bool(out and (out / MANIFEST).exists())
    visits = list(Capsule.open(out).visits()) if out and there else []
    schedule = Schedule(study, visits, mine=mine)
    concurrency = concurrency_of(study, jobs, visits)
    console = Console()
    stacks = ", ".join(s.name for s in study.stacks)
    besides = ", ".join(s.name for s in study.controls) or "none"
    besides += f" in one block of {study.controls_every}" if study.controls_every > 1 else ""
    console.print(
        f"{study.name}: {len(study.pages)} pages, stacks {stacks}; controls {besides}; "
        f"{', '.join(study.connections)} visits; {study.runs} runs"
        + (f" over {study.restarts} restarts" if study.restarts > 1 else ""),
        highlight=False,
    )
    if said := told(study.pages, study.addresses):
        console.print(said, highlight=False)
    console.print(_table(study, schedule, concurrency))
    if looks := study.looks()[:-1]:
        early = ", ".join(map(str, looks))
        console.print(
            f"a cell may stop after {early} blocks; this counts all of them", highlight=False
        )
    basis = (
        f"{concurrency.pace.measured} of {len(study.cells())} cells as measured in {out}"
        if concurrency.pace.measured
        else "bytes, rate and round trips"
    )
    console.print(
        f"left: {schedule.visits_left()} visits, about {span(concurrency.seconds(schedule.left))} "
        f"with {jobs} job{'s'[: jobs > 1]}; estimated from {basis}; reruns are extra",
        highlight=False,
    )
    return exits.DONE


def span(seconds: float) -> str:
    """Return a duration in words, such as ``40 s``, ``12 min``, ``3 h 20 min``."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


def _table(study: Study, schedule: Schedule, concurrency: Concurrency) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("network", style="bold")
    columns = (
        "round trip",
        "two-way loss",
        "cells",
        "blocks",
        "visits left",
        "per visit",
        "in parallel",
    )
    for column in (*columns, "time"):
        table.add_column(column, justify="right")
    for network in study.networks:
        cells = [cell for cell in study.cells() if cell[1] == network.name]
        if not cells:
            continue
        left = {cell: schedule.left[cell] for cell in cells}
        mean_s = sum(map(concurrency.pace.visit_s, cells)) / len(cells)
        at_once = sum(map(concurrency.at_once, cells)) / len(cells)
        table.add_row(
            network.name,
            f"{plain(network.rtt_ms)} ms",
            f"{plain(network.two_way_loss * 100)} %",
            str(len(cells)),
            str(len(cells) * study.runs),
            str(sum(left.values())),
            f"{mean_s:.1f} s",
            f"{at_once:.1f}",
            span(concurrency.seconds(left)),
        )
    return table
