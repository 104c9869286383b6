"""Papers' figures beside ours: what was read off them, and loads that are kept in the project."""

from pathlib import Path

import polars as pl
import pytest

from dragstrip_papers.claims import published
from dragstrip_papers.digitised import digitised
from dragstrip_papers.kept import read
from dragstrip_papers.report.published import HERE, PUBLISHED, heat_maps, load_times

LOADS = Path(__file__).parents[3] / "docs" / "results" / "loads"
MEGYESI = read(LOADS / "megyesi2016-loader.parquet").evidence.loads
KAKHKI = read(LOADS / "literature.parquet").evidence.loads


def stacks(key):
    paper = published(key)
    return paper.stacks(paper.specs())


@pytest.mark.parametrize("key", ["megyesi2016", "literature"])
def test_what_was_read_is_of_networks_that_the_paper_has(key):
    known = {n.name for spec in published(key).specs() for n in spec.networks}
    assert set(digitised(key)["network"]) <= known


def test_each_published_curve_rises():
    curves = digitised("megyesi2016").group_by("figure", "stack", maintain_order=True)
    drawn = [curve for _, curve in curves]
    assert len(drawn) == 9 * 3
    assert all(c["seconds"].is_sorted() and c["share"].is_sorted() for c in drawn)


def test_every_published_panel_has_curves_of_both():
    found = load_times(MEGYESI, digitised("megyesi2016"), list(stacks("megyesi2016").values()))
    panels = {row["panel"] for row in found.rows}
    assert len(panels) == 9
    assert "4e: many-large, 50 Mbit/s, 18 ms, 2% loss" in panels
    both = {(row["panel"], row["stack"], row["who"]) for row in found.rows}
    assert len(both) == 9 * 3 * 2


def test_a_panel_without_loads_of_every_stack_is_left_out():
    few = MEGYESI.filter(~((pl.col("network") == "50M-18ms-2") & (pl.col("stack") == "QUIC")))
    found = load_times(few, digitised("megyesi2016"), list(stacks("megyesi2016").values()))
    assert len({row["panel"] for row in found.rows}) == 8


def tiles(loads):
    h2, quic = (stacks("literature")[name] for name in ("h2-full", "QUIC"))
    return heat_maps(loads, digitised("literature"), h2, quic, "plt_ms")


def test_a_tile_has_the_published_percentage_and_ours():
    mine = {
        row["panel"]: row["percent"]
        for row in tiles(KAKHKI).rows
        if (row["page"], row["rate"]) == ("1x5KB", "10")
    }
    assert mine[f"6a, 36 ms: {PUBLISHED}"] == 47
    cell = KAKHKI.filter(page="synth-1x5KB", network="kakhki-10M-36ms")
    quic, h2 = (cell.filter(stack=name)["plt_ms"].mean() for name in ("QUIC", "h2-full"))
    assert mine[f"6a, 36 ms: {HERE}"] == pytest.approx(100 * (1 - quic / h2))


def test_a_blank_tile_is_blank():
    blank = {row["percent"] for row in tiles(KAKHKI).rows if not row["text"]}
    assert blank == {None}


def test_no_loads_no_figure():
    none = KAKHKI.filter(pl.col("network") == "elsewhere")
    assert tiles(none) is None
