"""The capsule's tidy Parquet tables, rebuilt from the journal at any time.

visits.parquet     a row a visit: every scalar, verdict, overhead, host and link
requests.parquet   a row a request as the browser saw it
served.parquet     a row a request as the origin saw it
connections.parquet  a row a connection of the origin, with its transport's statistics

Columns carry the names of `dragstrip.model.visit` and so their units; columns of a nested record
carry its name in front, such as ``link_down_lateness_p99_us``. A field added to the model is a
column the next time the tables are written. Rows of requests and served join on the first six
columns, which all three tables share.
"""

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import polars as pl
from msgspec import Struct

from dragstrip.model.visit import (
    Connection,
    DirectionReport,
    HostReport,
    Overhead,
    Request,
    Served,
    Transport,
    Visit,
    Visual,
)

Row = dict[str, Any]
Schema = dict[str, pl.DataType]

_COLUMNS: dict[object, pl.DataType] = {
    int: pl.Int64(),
    float: pl.Float64(),
    str: pl.String(),
    bool: pl.Boolean(),
}
_KEYS = ("block", "attempt", "stack", "page", "network", "valid")
_VISIT_KEYS: Schema = {"valid": pl.Boolean()}  # a property, so no field to read the type from
_PROTOCOLS = ("h1", "h2", "h3")
_SIDES = ("down", "up")


def write(capsule: Path, visits: Iterable[Visit]) -> None:
    """(Re)writes the tables of a capsule's visits into its folder."""
    for name, table in frames(visits).items():
        draft = capsule / f"{name}.parquet.part"
        table.write_parquet(draft)
        draft.replace(capsule / f"{name}.parquet")


def frames(visits: Iterable[Visit]) -> dict[str, pl.DataFrame]:
    """The tables by name, with all columns even without rows."""
    names = ("visits", "requests", "served", "connections")
    rows: dict[str, list[Row]] = {name: [] for name in names}
    for visit in visits:
        keys = {name: getattr(visit, name) for name in _KEYS}
        rows["visits"].append(keys | _visit_row(visit))
        rows["requests"].extend(keys | _values(Request, r) for r in visit.requests)
        rows["served"].extend(keys | _values(Served, s) for s in visit.served)
        rows["connections"].extend(
            keys | _values(Connection, c) | _values(Transport, c.transport, "transport_")
            for c in visit.connections
        )
    key_columns = {name: _visit_schema()[name] for name in _KEYS}
    schemas = {
        "visits": _visit_schema(),
        "requests": key_columns | _schema(Request),
        "served": key_columns | _schema(Served),
        "connections": key_columns | _schema(Connection) | _schema(Transport, "transport_"),
    }
    return {name: pl.DataFrame(rows[name], schema=schemas[name]) for name in rows}


def _visit_row(visit: Visit) -> Row:
    row = _values(Visit, visit) | {
        "verdict": visit.verdict,
        "reasons": [f"{r.code}: {r.detail}" for r in visit.reasons],
        "requests": len(visit.requests),
        "served": len(visit.served),
        "wire_bytes": visit.wire_bytes,
    }
    row |= {f"protocol_share_{p}": visit.protocol_share.get(p, 0.0) for p in _PROTOCOLS}
    row |= _values(Overhead, visit.overhead, "overhead_")
    row |= _values(HostReport, visit.host, "host_")
    row |= _values(Visual, visit.visual, "visual_")
    row["visual_vc85_ms"] = visit.visual.vc85_ms if visit.visual else None
    for side in _SIDES:
        report: DirectionReport | None = getattr(visit.link, side, None)
        row |= _values(DirectionReport, report, f"link_{side}_")
        row[f"link_{side}_realised_mbps"] = report.realised_mbps if report else None
        row[f"link_{side}_realised_loss"] = report.realised_loss if report else None
    return row


def _visit_schema() -> Schema:
    schema = {name: _VISIT_KEYS.get(name) or _schema(Visit)[name] for name in _KEYS}
    schema |= _schema(Visit)
    schema |= {"verdict": pl.String(), "reasons": pl.List(pl.String())}
    schema |= dict.fromkeys(("requests", "served", "wire_bytes"), pl.Int64())
    schema |= dict.fromkeys((f"protocol_share_{p}" for p in _PROTOCOLS), pl.Float64())
    schema |= _schema(Overhead, "overhead_") | _schema(HostReport, "host_")
    schema |= _schema(Visual, "visual_") | {"visual_vc85_ms": pl.Float64()}
    for side in _SIDES:
        schema |= _schema(DirectionReport, f"link_{side}_")
        realised = (f"link_{side}_realised_mbps", f"link_{side}_realised_loss")
        schema |= dict.fromkeys(realised, pl.Float64())
    return schema


@cache
def _schema(kind: type[Struct], prefix: str = "") -> Schema:
    """Columns for the scalar fields of a record; fields that hold records have tables or
    prefixed columns of their own."""
    found = {name: _column(hint) for name, hint in get_type_hints(kind).items()}
    return {prefix + name: column for name, column in found.items() if column is not None}


def _values(kind: type[Struct], record: Struct | None, prefix: str = "") -> Row:
    return {prefix + name: getattr(record, name, None) for name in _schema(kind)}


def _column(hint: object) -> pl.DataType | None:
    if get_origin(hint) is Literal:
        return pl.String()
    if get_origin(hint) in (Union, UnionType):
        (hint,) = (part for part in get_args(hint) if part is not NoneType)
        return _column(hint)
    return _COLUMNS.get(hint)
