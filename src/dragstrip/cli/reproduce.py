"""`dragstrip reproduce KEY`: a paper's studies and claims."""

from collections import Counter
from importlib import resources
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from dragstrip.model.errors import InputError
from dragstrip.study.file import read_outline


def reproduce(
    key: Annotated[str, typer.Argument(help="A name of `dragstrip list papers`.", metavar="KEY")],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what it would take.")
    ] = False,
) -> None:
    """Say what reproducing a paper takes: cells, visits, time, and what becomes of its claims."""
    from dragstrip.papers.claims import published  # what counts loads slowly
    from dragstrip.papers.plan import plan

    paper = published(key)
    if not dry_run:
        raise InputError(
            f"reproduce runs nothing yet: give --dry-run, or dragstrip run {paper.studies[0]}"
        )
    console = Console()
    table = Table(box=None, pad_edge=False)
    table.add_column("study", style="bold")
    for column in ("cells", "visits", "hours, about"):
        table.add_column(column, justify="right")
    table.add_column("file", overflow="fold")
    for file in paper.studies:
        with resources.as_file(file) as path:
            part = plan(read_outline(Path(path)))
        table.add_row(part.name, str(part.cells), str(part.visits), f"{part.hours:.1f}", str(file))
    console.print(table)
    tiers = Counter(claim.tier for claim in paper.claims)
    told = ", ".join(f"{count} {tier}" for tier, count in tiers.items())
    judged = sum(claim.predicate is not None for claim in paper.claims)
    console.print(f"{len(paper.claims)} claims ({told}), {judged} with a predicate")
    for stack, of in paper.paper.stands_for.items():
        console.print(f"surrogate: {stack} stands for {of}", highlight=False, markup=False)
    for choice in paper.paper.choices:
        console.print(f"our choice: {choice}", highlight=False, markup=False)


def list_papers(table: Table) -> None:
    """Rows for every paper that is known by name."""
    from dragstrip.papers.claims import KEYS, published

    for column in ("claims", "studies", "title", "venue"):
        table.add_column(column)
    for key in KEYS:
        known = published(key)
        table.add_row(
            key,
            str(len(known.claims)),
            str(len(known.studies)),
            known.paper.title,
            known.paper.venue,
        )
