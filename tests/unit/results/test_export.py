"""A capsule for other tools, and in two lines of Python."""

import csv
import json
import os
import time

import msgspec
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import dragstrip
from dragstrip.model.errors import InputError
from dragstrip.results.lookup import Lookup
from dragstrip.results.observed import observed
from dragstrip.results.tables import build as tables
from dragstrip.results.tables.build import frames, write
from dragstrip.results.tables.columns import describe, unit
from dragstrip.results.tables.export import export
from dragstrip.visit.metrics import METRICS, measures
from made_capsule import capsule

TIMES = {"h2": [1000.0, None], "h3": [900.0, 950.0]}


def test_csv_holds_one_row_per_visit_and_one_per_request(tmp_path):
    found = capsule(tmp_path / "c", TIMES)
    files = export(found, tmp_path / "out", "csv")
    assert {f.name for f in files} >= {"visits.csv", "requests.csv", "columns.csv"}
    with (tmp_path / "out" / "visits.csv").open(newline="") as rows:
        visits = list(csv.DictReader(rows))
    assert [v["stack"] for v in visits] == ["h2", "h3", "h2", "h3"]
    assert [v["plt_ms"] for v in visits] == ["1000.0", "900.0", "", "950.0"]
    assert len(pl.read_csv(tmp_path / "out" / "requests.csv")) == 12


def test_every_metric_has_a_column(tmp_path):
    found = capsule(tmp_path / "c", TIMES)
    export(found, tmp_path / "out", "parquet")
    visits = pl.read_parquet(tmp_path / "out" / "visits.parquet")
    assert set(visits.columns) >= {m.name for m in METRICS}
    first = next(found.visits())
    study = found.manifest.study
    for name, value in measures(first, study.network("LTE"), study.stack("h2")).items():
        assert visits[name][0] == value, name


def test_a_metric_has_one_column(tmp_path):
    found = capsule(tmp_path / "c", TIMES)
    columns = frames(found.visits(), found.manifest.study)["visits"].columns
    assert not tables.METRIC_OF.keys() & set(columns)
    assert set(tables.METRIC_OF.values()) <= set(columns)


def test_tables_with_a_metric_twice_are_read_as_they_are(tmp_path):
    found = capsule(tmp_path / "c", TIMES)
    tables.refresh(found)
    file = tmp_path / "c" / "visits.parquet"
    twice = pl.col("down_bytes").alias("link_down_bytes_out")
    (tmp_path / "c" / "journal.jsonl").unlink()  # only its tables are kept
    pl.read_parquet(file).with_columns(twice).write_parquet(file)
    visits = dragstrip.open(tmp_path / "c").visits()
    assert visits["link_down_bytes_out"].to_list() == visits["down_bytes"].to_list()
    cells = list(observed(found.manifest.study, tables.scan(found, "visits")))
    assert [cell.counted for cell in cells] == [2]


def test_tables_are_written_batch_by_batch_in_the_order_of_the_journal(tmp_path, monkeypatch):
    found = capsule(tmp_path / "c", TIMES)
    monkeypatch.setattr(tables, "_BATCH_VISITS", 3)
    tables.refresh(found)
    visits = tables.scan(found, "visits").collect()
    assert visits["row"].to_list() == [0, 1, 2, 3]
    whole = frames(found.visits(), found.manifest.study)
    assert_frame_equal(visits.drop("row"), whole["visits"])
    assert_frame_equal(pl.read_parquet(tmp_path / "c" / "requests.parquet"), whole["requests"])
    assert not list((tmp_path / "c").glob("tables-*"))


def test_a_row_of_the_table_is_a_line_of_the_journal(tmp_path):
    found = capsule(tmp_path / "c", TIMES)
    with (tmp_path / "c" / "journal.jsonl").open("ab") as journal:
        journal.write(b'{"block": "cut o')
    lookup = Lookup(tmp_path / "c" / "journal.jsonl")
    assert [lookup[i] for i in range(len(lookup))] == list(found.visits())


def test_tables_of_an_older_version_are_written_again(tmp_path):
    found = capsule(tmp_path / "c", TIMES)
    tables.refresh(found)
    old = pl.read_parquet(tmp_path / "c" / "visits.parquet").drop("goodput_mbps")
    old.write_parquet(tmp_path / "c" / "visits.parquet")
    tables.refresh(found)
    assert "goodput_mbps" in pl.read_parquet_schema(tmp_path / "c" / "visits.parquet")


def test_parquet_is_the_tables_themselves(tmp_path):
    found = capsule(tmp_path / "c", TIMES)
    export(found, tmp_path / "out", "parquet")
    for name, table in frames(found.visits(), found.manifest.study).items():
        assert_frame_equal(pl.read_parquet(tmp_path / "out" / f"{name}.parquet"), table)


def test_every_column_is_described(tmp_path):
    """A field without a docstring in the model needs one there, or a word in `columns`."""
    found = describe(frames([]))
    assert found.filter(pl.col("meaning") == "").rows() == []
    known = {(r["table"], r["column"]): r for r in found.iter_rows(named=True)}
    assert known["visits", "plt_ms"]["meaning"].startswith("Page load time")
    assert known["visits", "link_down_busy_bytes"]["meaning"].startswith("Bytes, as")


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ("plt_ms", "milliseconds"),
        ("started_us", "microseconds"),
        ("link_up_bytes_in", "bytes"),
        ("wire_bytes", "bytes"),
        ("link_up_dropped_loss", "packets"),
        ("link_up_realised_loss", "share of 1"),
        ("protocol_share_h2", "share of 1"),
        ("requests", ""),
    ],
)
def test_units(column, words):
    assert unit(column) == words


def test_hars_keep_their_headers_and_say_what_they_are_worth(tmp_path):
    found = capsule(tmp_path / "c", TIMES)
    first = next(found.visits())
    recorded = {"log": {"pages": [{"id": first.id, "title": "kept"}], "entries": []}}
    (tmp_path / "c" / "har").mkdir()
    (tmp_path / "c" / "har" / "any-name.har").write_text(json.dumps(recorded))
    files = export(found, tmp_path / "out", "har")
    assert len(files) == 4
    kept, rebuilt = (msgspec.json.decode(f.read_bytes())["log"] for f in files[:2])
    assert kept["pages"][0]["title"] == "kept"
    assert kept["pages"][0]["_dragstrip"]["headers"] is True
    assert len(rebuilt["entries"]) == 3
    standing = rebuilt["pages"][0]["_dragstrip"]
    assert (standing["stack"], standing["verdict"], standing["headers"]) == ("h3", "valid", False)


def test_two_lines_of_python(tmp_path):
    capsule(tmp_path / "c", TIMES)
    visits = dragstrip.open(tmp_path / "c").visits()
    assert visits["plt_ms"].to_list() == [1000, 900, None, 950]


def test_a_table_that_is_behind_the_journal_is_not_used(tmp_path):
    found = capsule(tmp_path / "c", TIMES)
    write(tmp_path / "c", list(found.visits())[:1], found.manifest.study)
    opened = dragstrip.open(tmp_path / "c")
    assert len(opened.visits()) == 1  # the tables are newer and are read as they are
    later = time.time() + 10
    os.utime(tmp_path / "c" / "journal.jsonl", (later, later))
    assert len(opened.visits()) == 4


def test_comparisons_and_columns_as_frames(tmp_path):
    capsule(tmp_path / "c", {"h2": [1000.0, 1000], "h3": [900.0, 900]})
    opened = dragstrip.open(tmp_path / "c")
    found = opened.comparisons().filter(pl.col("metric") == "plt_ms")
    assert found["ratio"].to_list() == pytest.approx([0.9])
    assert "meaning" in opened.columns().columns
    with pytest.raises(InputError, match="no table 'loads'; choose from visits"):
        opened.table("loads")


def test_no_capsule_is_wrong_input(tmp_path):
    with pytest.raises(InputError, match="no capsule here"):
        dragstrip.open(tmp_path)
