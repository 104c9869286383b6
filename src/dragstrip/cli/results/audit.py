"""`dragstrip audit`: check captures that others made."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import track
from rich.table import Table

from dragstrip.audit.capture import find, read
from dragstrip.audit.claims import (
    NAME_PATTERNS,
    Claims,
    compile_pattern,
    from_name,
    protocol_label,
)
from dragstrip.audit.judge import AuditRow, as_json, judge, summarise
from dragstrip.cli import exits
from dragstrip.model.errors import InputError
from dragstrip.model.units import parse_duration_ms, parse_rate_mbps
from dragstrip.report.words.audit import sentences
from dragstrip.report.words.numbers import duration, size


def audit(
    path: Annotated[
        list[Path], typer.Argument(help="HAR files (also .gz, .zst) or folders.", metavar="PATH...")
    ],
    claims_from_names: Annotated[
        str | None,
        typer.Option(
            help="What file names claim, like '{protocol}-{page}-bw{down_mbps}-rtt{rtt_ms}'.",
            metavar="PATTERN",
        ),
    ] = None,
    down: Annotated[
        str | None,
        typer.Option(help="Claimed rate to the browser, like 2mbit (default: not checked)."),
    ] = None,
    rtt: Annotated[
        str | None, typer.Option(help="Claimed round trip, like 100ms (default: not checked).")
    ] = None,
    protocol: Annotated[
        str | None, typer.Option(help="Claimed protocol: h1, h2 or quic (default: not checked).")
    ] = None,
    html: Annotated[
        Path | None, typer.Option(help="Also write one page with figures (default: no file).")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the audit as JSON.")] = False,
) -> int:
    """Check captures of page loads against what they claim.

    The exit code is 0 if every capture was judged, whatever was found; 4 if one holds nothing to
    judge; 2 if a file cannot be read.
    """
    claimed = _claims(claims_from_names, down, rtt, protocol)
    files = find(path)
    bar = Console(stderr=True)
    rows: list[AuditRow] = []
    unread: list[str] = []
    for file in track(files, "reading", console=bar, transient=True):
        try:
            captures = list(read(file))
        except InputError as error:
            unread.append(str(error))
        else:
            rows += [judge(c, claimed(c.name)) for c in captures]
    summary = summarise(rows, unread)
    if json:
        text = msgspec.json.format(msgspec.json.encode(as_json(summary, rows)), indent=2)
        sys.stdout.buffer.write(text + b"\n")
    console = Console(stderr=json)
    if rows:
        console.print(_table(rows))
    for line in sentences(summary) if rows else ():
        console.print(line, highlight=False)
    for line in unread:
        bar.print(f"dragstrip: {line}", highlight=False, markup=False, soft_wrap=True)
    if html:
        from dragstrip.report.site.audit import page  # drawing loads slowly

        title = path[0].resolve().name if len(path) == 1 else f"{len(files)} files"
        html.write_text(page(title, summary, rows), encoding="utf-8")
        console.print(f"page: {html}", highlight=False)
    if unread:
        return exits.WRONG_INPUT
    return exits.STAYED_INVALID if summary.nothing_to_judge else exits.DONE


def _claims(
    pattern: str | None, down: str | None, rtt: str | None, protocol: str | None
) -> Callable[[str], Claims]:
    """Return a function from a capture's name to its claims."""
    given = down or rtt or protocol
    if pattern and given:
        raise InputError(
            "--claims-from-names and --down, --rtt, --protocol cannot be combined: give the "
            "pattern or the values"
        )
    if given:
        fixed = Claims(
            down_mbps=parse_rate_mbps(down) if down else None,
            rtt_ms=parse_duration_ms(rtt) if rtt else None,
            protocol=protocol_label(protocol) if protocol else "",
        )
        return lambda name: fixed
    patterns = [compile_pattern(p) for p in ([pattern] if pattern else NAME_PATTERNS)]

    def named(name: str) -> Claims:
        claims = from_name(name, patterns)
        if claims is None and pattern:
            raise InputError(f"{name}: does not fit the pattern {pattern!r}; widen it with *")
        return claims or Claims()

    return named


def _table(rows: Sequence[AuditRow]) -> Table:
    table = Table(box=None, pad_edge=False)
    for title in ("capture", "claims"):
        table.add_column(title, overflow="fold")
    for title in ("load", "at least", "bytes", "connect"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("findings")
    for row in rows:
        table.add_row(
            escape(row.name),
            row.claims.describe(),
            duration(row.load_ms),
            duration(row.least_load_ms),
            size(row.wire_bytes) if row.wire_bytes is not None else "\N{EN DASH}",
            duration(row.connect_median_ms),
            "; ".join(row.findings) or "[green]none[/green]",
            style="red" if row.impossible else None,
        )
    return table
