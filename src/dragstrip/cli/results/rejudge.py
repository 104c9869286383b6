"""`dragstrip rejudge`: judge a capsule's evidence by today's rules, or by other limits."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from dragstrip.cli.options import AsJson
from dragstrip.model.errors import InputError

if TYPE_CHECKING:
    from dragstrip.results.rejudge import Rejudgement

_NAMED = 3
"""Most visits per kind of change that are shown with their reasons."""


def rejudge(
    folder: Annotated[Path, typer.Argument(help="Result folder of a race or run.", metavar="DIR")],
    limit: Annotated[
        list[str] | None,
        typer.Option(
            help="Override a limit, such as wait_ms=300. Repeatable (default: the study's limits).",
            metavar="NAME=VALUE",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Judge a result folder's visits again; show what changes."""
    from dragstrip.results.capsule import Capsule
    from dragstrip.results.rejudge import rejudge as judged

    rejudgement = judged(Capsule.open(folder), dict(map(_pair, limit or ())))
    if as_json:
        sys.stdout.buffer.write(
            msgspec.json.format(msgspec.json.encode(rejudgement), indent=2) + b"\n"
        )
    _show(rejudgement)


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise InputError(f"--limit {text}: give NAME=VALUE, such as wait_ms=300")
    return name.strip(), value.strip()


def _show(rejudgement: "Rejudgement") -> None:
    from dragstrip.report.words.numbers import counted
    from dragstrip.results.rejudge import by_change

    console = Console(stderr=True, highlight=False)
    then = " and ".join(map(str, rejudgement.rules_then))
    console.print(f"Made under rules {then}, judged by rules {rejudgement.rules}.")
    if rejudgement.limits:
        console.print(
            "Limits that are not the defaults: "
            + ", ".join(f"{name} {value}" for name, value in rejudgement.limits.items())
        )
    for words in rejudgement.changes:
        console.print(f"  since then: {words}")
    if not rejudgement.changed:
        console.print(f"{counted(rejudgement.visits, 'visit')}: no verdict changes.")
        return
    table = Table(title=f"{len(rejudgement.changed)} of {rejudgement.visits} verdicts change")
    for name in ("before", "now", "visits", "such as"):
        table.add_column(name, justify="right" if name == "visits" else "left")
    for (before, after), those in by_change(rejudgement.changed).items():
        example = "\n".join(
            "; ".join([one.visit, *(reason.detail for reason in one.reasons)])
            for one in those[:_NAMED]
        )
        table.add_row(before, after, str(len(those)), example)
    console.print(table)
    console.print(f"Blocks that count: {rejudgement.blocks_then} before, {rejudgement.blocks} now.")
