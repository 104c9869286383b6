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
from dragstrip.cli.options import AsJson
from dragstrip.model.errors import InputError
from dragstrip.report.words.numbers import bounded, interval

if TYPE_CHECKING:
    from dragstrip.results.compare.capsules import CapsuleComparison, CapsuleDifference, Compared
    from dragstrip.results.compare.gate import Gated

_CANNOT_TELL = (
    "Too many blocks stayed invalid, so undecided conditions say nothing. See the reports: a "
    "broken server looks like this, too."
)
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
    as_json: AsJson = False,
) -> int:
    """Compare two result folders; fail a build with --fail-if."""
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
    if any(g.verdict == "failed" for g in gated):
        return exits.FAILED_CONDITION
    if found.stayed_invalid and any(g.verdict == "not decided" for g in gated):
        console.print(_CANNOT_TELL, style="bold red", highlight=False)
        return exits.STAYED_INVALID
    return exits.DONE


def _pair(text: str) -> tuple[str, str]:
    a, colon, b = text.partition(":")
    if not (a and colon and b):
        raise InputError(f"--pair {text!r}: write it like old-h2:new-h2")
    return a, b


def _told(row: "Compared", asked: Collection[tuple[str, str]]) -> bool:
    """Show spread if there are enough loads for an interval, or a condition needs it."""
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
        metric = found.metric.removesuffix("_ms")
        if found.statistic != "median":
            metric = f"{metric} {found.statistic}"
        table.add_row(Text(found.cell), Text(found.stack), metric, _ratio(found), _loads(found))
    return table


def _loads(found: "CapsuleDifference") -> str:
    loads = f"{found.n_a} pairs" if found.pairing == "paired" else f"{found.n_a} and {found.n_b}"
    if not found.censored_a and not found.censored_b:
        return loads
    return f"{loads}; {found.censored_a} and {found.censored_b} did not finish"


def _ratio(found: "CapsuleDifference") -> str:
    from dragstrip.stats.spread import LEAST

    if found.ratio is None and found.n_a:
        return "no load ended" if found.censored_a == found.n_a else "no ratio to zero"
    if found.ratio is None:
        return "no block counts"
    if found.statistic != "median" and found.low is None:
        return f"{found.ratio:.3f} (no interval: needs {LEAST[found.statistic]} loads)"
    if found.ends:
        low, high = found.ends
        return f"{found.ratio:.5f} (pairs {low:.5f} to {high:.5f})"
    said = interval(found.ratio, found.low, found.high)
    return f"{said}; {bounded(found.bound)}" if found.bound else said


def _too_few(rows: "Sequence[Compared]", gated: "Sequence[Gated]") -> Iterator[Text]:
    """Warn if there are too few loads for any condition to fail."""
    most = max((row.difference.n_a for row in rows), default=0)
    needs = max((g.needs for g in gated), default=0)
    if most < needs:
        yield Text(
            f"{most} loads per side are too few for any of {len(gated)} conditions to fail; make "
            f"at least {needs}",
            style="yellow",
        )


def _line(gated: "Gated") -> Text:
    place = f"{gated.stack} on {gated.cell}"
    how = "virtual time, by pairs" if gated.p is None else f"p {gated.p:.2g}"
    return Text(
        f"{gated.condition!r}: {gated.verdict} for {place} ({how})",
        style=_STYLES[gated.verdict],
    )
