"""`dragstrip compare`: two capsules against each other, and a gate for builds."""

import sys
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from dragstrip.cli import exits
from dragstrip.cli.ci import Annotate, JunitFile, MarkdownFile, make_room, write_for_ci
from dragstrip.cli.options import AsJson
from dragstrip.model.errors import InputError
from dragstrip.report.words.compared import (
    CANNOT_TELL,
    decided_by,
    loads_of,
    metric_of,
    ratio_of,
)

if TYPE_CHECKING:
    from dragstrip.results.compare.capsules import CapsuleComparison, Compared
    from dragstrip.results.compare.gate import Gated

_STYLES = {"failed": "bold red", "passed": "green", "not decided": "yellow"}


def compare(
    a: Annotated[Path, typer.Argument(help="Baseline result folder.", metavar="A")],
    b: Annotated[
        Path | None,
        typer.Argument(
            help="Result folder to judge (default: A itself, with --pair).", metavar="[B]"
        ),
    ] = None,
    pair: Annotated[
        list[str] | None,
        typer.Option(
            help="A stack in A and one in B, like old-h2:new-h2. Repeatable (default: stacks of "
            "the same name).",
            metavar="STACK:STACK",
        ),
    ] = None,
    fail_if: Annotated[
        list[str] | None,
        typer.Option(
            help="Exit with code 1 if this holds, such as 'slower > 5%', 'ttfb slower > 10%' or "
            "'p95 slower > 10%'. Repeatable (default: none)."
        ),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            help="Metric to compare, such as fcp, down_bytes or object:/app.css:end. Repeatable "
            "(default: plt)."
        ),
    ] = None,
    across_clocks: Annotated[
        bool,
        typer.Option("--across-clocks", help="Compare virtual time with real time anyway."),
    ] = False,
    across_clients: Annotated[
        bool,
        typer.Option("--across-clients", help="Compare the load generator with a browser anyway."),
    ] = False,
    junit: JunitFile = None,
    annotate: Annotate = None,
    markdown: MarkdownFile = None,
    as_json: AsJson = False,
) -> int:
    """Compare two result folders; fail a build with --fail-if."""
    from dragstrip.report.ci.compared import compared_suite, compared_summary
    from dragstrip.results.capsule import Capsule
    from dragstrip.results.compare.capsules import compare_capsules
    from dragstrip.results.compare.gate import gate, metric_name, parse

    pairs = [_pair(text) for text in pair or []]
    if b is None:
        if not pairs:
            raise InputError("give two result folders, or one and --pair old-h2:new-h2")
        b = a
    metrics = [metric_name(name) for name in metric or ["plt"]]
    conditions = [parse(text, metrics[0]) for text in fail_if or []]
    shown = {*metrics, *(c.metric for c in conditions)}
    if (junit or annotate) and not conditions:
        raise InputError("--junit and --annotate need a condition, such as --fail-if 'slower > 5%'")
    make_room(junit, markdown, as_json=as_json)
    capsules = Capsule.open(a), Capsule.open(b)
    found = compare_capsules(
        *capsules,
        spread_of=shown,
        across_clocks=across_clocks,
        across_clients=across_clients,
        pairs=pairs,
    )
    gated = gate(conditions, found.rows)
    if as_json:
        sys.stdout.buffer.write(_json(a, b, found, gated))
    asked = {(c.metric, c.statistic) for c in conditions}
    rows = [row for row in found.rows if row.difference.metric in shown and _told(row, asked)]
    console = Console(stderr=True)
    console.print(_text(found.notes, rows, gated), highlight=False)
    if junit or annotate or markdown:
        suite = compared_suite(a, b, found, gated)
        summary = compared_summary(suite, [row.difference for row in rows])
        write_for_ci(suite, summary, junit=junit, annotate=annotate, markdown=markdown)
    if any(g.verdict == "failed" for g in gated):
        return exits.FAILED_CONDITION
    if found.stayed_invalid and any(g.verdict == "not decided" for g in gated):
        console.print(CANNOT_TELL, style="bold red", highlight=False)
        return exits.STAYED_INVALID
    return exits.DONE


def _pair(text: str) -> tuple[str, str]:
    a, colon, b = text.partition(":")
    if not (a and colon and b):
        raise InputError(f"--pair {text!r}: write it like old-h2:new-h2")
    return a, b


def _told(row: "Compared", asked: Collection[tuple[str, str]]) -> bool:
    """Return whether to print this row. A median is always printed. A measure of spread is printed
    if there are enough loads for an interval, or if a condition needs it."""
    found = row.difference
    known = found.low is not None or (found.metric, found.statistic) in asked
    return found.statistic == "median" or known


def _json(a: Path, b: Path, found: "CapsuleComparison", gated: "list[Gated]") -> bytes:
    from dragstrip.results.compare.gate import Output
    from dragstrip.verdict.rules import VERSION

    output = Output(
        a=str(a),
        b=str(b),
        rules=VERSION,
        notes=found.notes,
        differences=[row.difference for row in found.rows],
        conditions=gated,
        stayed_invalid=found.stayed_invalid,
    )
    return msgspec.json.format(msgspec.json.encode(output), indent=2) + b"\n"


def _text(
    notes: Sequence[str], rows: "Sequence[Compared]", gated: "Sequence[Gated]"
) -> RenderableType:
    return Group(
        _table(rows),
        *(Text(f"note: {note}", style="dim") for note in notes),
        *(_line(verdict) for verdict in gated),
        *_too_few(rows, gated),
    )


def _table(rows: "Sequence[Compared]") -> Table:
    table = Table(title="B against A", title_justify="left")
    table.add_column("page | network", overflow="fold")
    table.add_column("stack")
    table.add_column("metric", overflow="fold")
    table.add_column("B / A (95 %)", justify="right", no_wrap=True)
    table.add_column("loads")
    for row in rows:
        found = row.difference
        said = metric_of(found), ratio_of(found), loads_of(found)
        table.add_row(Text(found.cell), Text(found.stack), *said)
    return table


def _too_few(rows: "Sequence[Compared]", gated: "Sequence[Gated]") -> Iterator[Text]:
    """Warn if no condition decided by a test can fail, because there are too few loads."""
    most = max((row.difference.n_a for row in rows), default=0)
    tested = [g for g in gated if g.p is not None]  # pairs need one load
    needs = max((g.needs for g in tested), default=0)
    if most < needs:
        yield Text(
            f"{most} loads per side are too few for any of {len(tested)} conditions to fail; make "
            f"at least {needs}",
            style="yellow",
        )


def _line(gated: "Gated") -> Text:
    place = f"{gated.stack} on {gated.cell}"
    return Text(
        f"{gated.condition!r}: {gated.verdict} for {place} ({decided_by(gated)})",
        style=_STYLES[gated.verdict],
    )
