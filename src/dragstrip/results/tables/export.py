"""Exports a capsule for other tools: tables as CSV or Parquet with a description of every column,
or a file per visit: HAR, qlog, a trace for Perfetto."""

from collections.abc import Callable
from pathlib import Path
from typing import Literal

import polars as pl

from dragstrip.results.capsule import Capsule
from dragstrip.results.tables.build import frames
from dragstrip.results.tables.columns import describe
from dragstrip.results.tables.export_har import write_hars
from dragstrip.results.tables.export_perfetto import write_traces
from dragstrip.results.tables.export_qlog import QlogVersion, write_qlogs
from dragstrip.results.tables.stack_rows import stack_table

Format = Literal["csv", "parquet", "har", "perfetto", "qlog"]


def export(capsule: Capsule, folder: Path, to: Format, qlog: QlogVersion = "draft") -> list[Path]:
    """Write a capsule's visits into `folder`; return the files. If there is one file per visit, the
    oldest visit comes first. `qlog` is the version of the qlog format.

    CSV and Parquet contain the tables of `dragstrip.results.tables.build`; ``stacks``, with each
    stack's properties and its differences from the first; and ``columns.csv``, which describes
    every column. Files of the same name are replaced.
    """
    folder.mkdir(parents=True, exist_ok=True)
    match to:
        case "har":
            return write_hars(capsule, folder)
        case "perfetto":
            return write_traces(capsule, folder)
        case "qlog":
            return write_qlogs(capsule, folder, qlog)
    study = capsule.manifest.study
    tables = frames(capsule.visits(), study) | {"stacks": stack_table(study)}
    written = [
        _write(table, folder / f"{name}.{to}", _WRITERS[to]) for name, table in tables.items()
    ]
    return [*written, _write(describe(tables), folder / "columns.csv", _csv)]


def _write(table: pl.DataFrame, path: Path, write: Callable[[pl.DataFrame, Path], None]) -> Path:
    """Write a file completely or not at all."""
    draft = path.with_name(path.name + ".part")
    write(table, draft)
    draft.replace(path)
    return path


def _csv(table: pl.DataFrame, path: Path) -> None:
    """Write CSV (RFC 4180) with a header. None is an empty field; the items of a list are joined by
    semicolons."""
    lists = [name for name, kind in table.schema.items() if isinstance(kind, pl.List)]
    table.with_columns(pl.col(name).list.join("; ") for name in lists).write_csv(path)


def _parquet(table: pl.DataFrame, path: Path) -> None:
    table.write_parquet(path)


_WRITERS: dict[str, Callable[[pl.DataFrame, Path], None]] = {"csv": _csv, "parquet": _parquet}
