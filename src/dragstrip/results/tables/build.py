"""The capsule's tidy Parquet tables, rebuilt from the journal at any time.

visits.parquet     one row per visit, as in the journal: scalars and metrics, verdict, host, link
requests.parquet   one row per request as the browser saw it
served.parquet     one row per request as the origin saw it
connections.parquet  one row per connection of the origin, with its transport's statistics

Columns carry the names of `dragstrip.model.visit` and so their units; columns of a nested record
carry its name in front, such as ``link_down_lateness_p99_us``. A metric has one column with the
metric's name, even if a nested record holds it. A field added to the model is a column the next
time the tables are written. Rows of requests and served join on the first six columns, which all
three tables share.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import polars as pl
from msgspec import Struct

from dragstrip.model.study import Study
from dragstrip.model.visit import (
    Connection,
    DirectionReport,
    EcnCounts,
    HostReport,
    Offer,
    Overhead,
    Request,
    Served,
    Transport,
    Visit,
    Visual,
)
from dragstrip.results.capsule import JOURNAL, Capsule
from dragstrip.verdict import rules
from dragstrip.visit.metrics import METRICS, measures
from dragstrip.visit.objects import find_metric, of_an_object

Row = dict[str, Any]
Schema = dict[str, pl.DataType]
T = TypeVar("T")

_COLUMNS: dict[object, pl.DataType] = {
    int: pl.Int64(),
    float: pl.Float64(),
    str: pl.String(),
    bool: pl.Boolean(),
}
KEYS = ("block", "attempt", "stack", "page", "network", "valid")
"""The columns of the visit that every table has."""
_VISIT_KEYS: Schema = {"valid": pl.Boolean()}  # a property, so no field to read the type from
_PROTOCOLS = ("h1", "h2", "h3", "gquic", "spdy")
_PARTS: Mapping[str, type[Struct]] = {
    "overhead": Overhead,
    "host": HostReport,
    "visual": Visual,
    "link_down": DirectionReport,
    "link_up": DirectionReport,
}
"""The nested records of a visit, by their names in columns."""
_SENDERS: Mapping[str, type[Struct]] = {
    "transport": Transport,
    "transport_offer": Offer,
    "transport_client_offer": Offer,
    "transport_ecn_counts": EcnCounts,
}
"""The nested records of a connection, by their names in columns."""
NESTED = {**_PARTS, **_SENDERS}
_DERIVED: Mapping[type[Struct], tuple[str, ...]] = {
    DirectionReport: ("realised_mbps", "realised_loss"),
}
"""Properties of nested records that are columns in addition to their fields."""
METRIC_OF: Mapping[str, str] = {
    **{f"visual_{name}": name for name in ("fvc_ms", "lvc_ms", "speed_index_ms", "vc85_ms")},
    "link_down_bytes_out": "down_bytes",
    "link_up_bytes_out": "up_bytes",
}
"""Nested fields that are metrics. They have one column, with the metric's name; older tables have
both names."""
_LONG = frozenset({"loss_fates"})
"""Fields that are too long for a table because they list each packet. They are only in the
journal."""


_RULES = "dragstrip_rules"
"""Key in the files' metadata for the version of the rules."""
TABLES = ("visits", "requests", "served", "connections")
_BATCH_VISITS = 1000


def write(capsule: Path, visits: Iterable[Visit], study: Study) -> None:
    """Write the tables of a capsule's visits into its folder, and replace old ones.

    Visits are written in batches, so that memory does not grow with their number.
    """
    with TemporaryDirectory(dir=capsule, prefix="tables-") as folder:
        for number, batch in enumerate(_batches(visits)):
            for name, table in frames(batch, study).items():
                table.write_parquet(Path(folder) / f"{name}-{number:06}.parquet")
        for name in TABLES:
            draft = capsule / f"{name}.parquet.part"
            parts = sorted(Path(folder).glob(f"{name}-*.parquet"))
            pl.scan_parquet(parts).sink_parquet(draft, metadata={_RULES: str(rules.VERSION)})
            draft.replace(capsule / f"{name}.parquet")


def fresh(capsule: Capsule, name: str) -> bool:
    """Return whether the table's file is not older than the journal, has all current columns, and
    has verdicts by today's rules.

    A capsule without a journal has only its tables, which always count as fresh.
    """
    file, journal = capsule.path / f"{name}.parquet", capsule.path / JOURNAL
    if not file.exists() or name not in TABLES:
        return False
    if journal.exists():
        older = file.stat().st_mtime_ns < journal.stat().st_mtime_ns
        if older or judged_by(file) != rules.VERSION:
            return False
    wanted = schemas(capsule.manifest.study)[name]
    return wanted.keys() <= pl.read_parquet_schema(file).keys()


def judged_by(table: Path) -> int:
    """Return the version of the rules that the verdicts in this file follow."""
    return int(pl.read_parquet_metadata(table).get(_RULES, 1))


def refresh(capsule: Capsule) -> None:
    """Write the tables again unless all are fresh."""
    if not all(fresh(capsule, name) for name in TABLES):
        write(capsule.path, capsule.visits(), capsule.manifest.study)


def scan(capsule: Capsule, name: str) -> pl.LazyFrame:
    """Open a fresh table, to be read lazily; column `row` counts its rows.

    Row i of the visits is line i of the journal.
    """
    return pl.scan_parquet(capsule.path / f"{name}.parquet", row_index_name="row")


def _batches(visits: Iterable[Visit]) -> Iterator[list[Visit]]:
    """Yield batches of visits; at least one, which may be empty."""
    left = iter(visits)
    yield list(islice(left, _BATCH_VISITS))
    while batch := list(islice(left, _BATCH_VISITS)):
        yield batch


def frames(visits: Iterable[Visit], study: Study | None = None) -> dict[str, pl.DataFrame]:
    """Return the tables by name, with all columns even without rows.

    Without `study`, metrics that need network and stack are empty.
    """
    rows: dict[str, list[Row]] = {name: [] for name in TABLES}
    for visit in visits:
        keys = {name: getattr(visit, name) for name in KEYS}
        rows["visits"].append(_metrics(visit, study) | keys | _visit_row(visit))
        rows["requests"].extend(keys | _values(Request, r) for r in visit.requests)
        rows["served"].extend(keys | _values(Served, s) for s in visit.served)
        rows["connections"].extend(keys | _connection_row(c) for c in visit.connections)
    return {
        name: pl.DataFrame(rows[name], schema=schema) for name, schema in schemas(study).items()
    }


def schemas(study: Study | None = None) -> dict[str, Schema]:
    """Return the columns of every table. The table of visits includes the study's own metrics."""
    key_columns = {name: _visit_schema()[name] for name in KEYS}
    return {
        "visits": _visit_schema() | dict.fromkeys((n for n in _objects(study)), pl.Float64()),
        "requests": key_columns | _schema(Request),
        "served": key_columns | _schema(Served),
        "connections": key_columns | _connection_schema(),
    }


def _connection_row(connection: Connection) -> Row:
    sender = connection.transport
    within = (getattr(sender, name, None) for name in ("offer", "client_offer", "ecn_counts"))
    records = (sender, *within)
    return _values(Connection, connection) | _nested(_SENDERS, records)


def _connection_schema() -> Schema:
    return _schema(Connection) | _nested_schema(_SENDERS)


def _metrics(visit: Visit, study: Study | None) -> Row:
    if study is None:
        return {}
    network, stack = study.network(visit.network), study.stack(visit.stack)
    found = {n: find_metric(n).measure(visit, network, stack) for n in _objects(study)}
    return dict(measures(visit, network, stack)) | found


def _objects(study: Study | None) -> list[str]:
    return [name for name in study.metrics if of_an_object(name)] if study else []


def _visit_row(visit: Visit) -> Row:
    row = _values(Visit, visit) | {
        "verdict": visit.verdict,
        "reasons": [f"{r.code}: {r.detail}" for r in visit.reasons],
        "unchecked": list(visit.unchecked),
        "requests": len(visit.requests),
        "served": len(visit.served),
        "wire_bytes": visit.wire_bytes,
    }
    row |= {f"protocol_share_{p}": visit.protocol_share.get(p, 0.0) for p in _PROTOCOLS}
    down, up = (getattr(visit.link, side, None) for side in ("down", "up"))
    return row | _nested(_PARTS, (visit.overhead, visit.host, visit.visual, down, up))


def _visit_schema() -> Schema:
    schema = {name: _VISIT_KEYS.get(name) or _schema(Visit)[name] for name in KEYS}
    schema |= _schema(Visit)
    schema |= {"verdict": pl.String()}
    schema |= dict.fromkeys(("reasons", "unchecked"), pl.List(pl.String()))
    schema |= dict.fromkeys(("requests", "served", "wire_bytes"), pl.Int64())
    schema |= dict.fromkeys((f"protocol_share_{p}" for p in _PROTOCOLS), pl.Float64())
    schema |= _nested_schema(_PARTS)
    whole = ("count", "byte")
    kinds = {m.name: pl.Int64() if m.unit in whole else pl.Float64() for m in METRICS}
    return schema | {name: kind for name, kind in kinds.items() if name not in schema}


def _nested(kinds: Mapping[str, type[Struct]], records: Iterable[Struct | None]) -> Row:
    """Return the columns of nested records; `records` has the order of `kinds`."""
    row: Row = {}
    for (name, kind), record in zip(kinds.items(), records, strict=True):
        row |= _values(kind, record, f"{name}_")
        row |= {f"{name}_{n}": getattr(record, n, None) for n in _DERIVED.get(kind, ())}
    return _once(row)


def _nested_schema(kinds: Mapping[str, type[Struct]]) -> Schema:
    schema: Schema = {}
    for name, kind in kinds.items():
        schema |= _schema(kind, f"{name}_")
        schema |= {f"{name}_{n}": pl.Float64() for n in _DERIVED.get(kind, ())}
    return _once(schema)


def _once(columns: dict[str, T]) -> dict[str, T]:
    return {name: column for name, column in columns.items() if name not in METRIC_OF}


@cache
def _schema(kind: type[Struct], prefix: str = "") -> Schema:
    """Return the columns for a record's scalar fields. Fields that hold records have their own
    tables or prefixed columns."""
    hints = get_type_hints(kind).items()
    found = {name: _column(hint) for name, hint in hints if name not in _LONG}
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
