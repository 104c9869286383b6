"""A sampled study as table, map and page data."""

import msgspec
import numpy as np
import polars as pl
import pytest
from msgspec import structs

import made
from dragstrip.model.network import Network
from dragstrip_papers.map.pictures import network_map, page_map
from dragstrip_papers.map.sampled import cells_of, ratios, spots
from dragstrip_papers.map.survey import page_data, places, surveyed
from made_map import SAMPLE, made_map

MOST_BYTES = 1_000_000
"""Largest size of the page's data for 10,000 cells."""


def test_a_place_is_where_the_value_lies_in_its_range():
    cells = (
        made_map()
        .head(4)
        .with_columns(
            down_mbps=pl.Series([1.0, 10.0, 100.0, 1.0]),
            loss=pl.Series([0.0, 0.001, 0.03, 0.0]),
        )
    )
    found = places(cells, SAMPLE)
    assert found[:, 0] == pytest.approx([0, 0.5, 1, 0])
    assert found[:, 2] == pytest.approx([0, 0.4, 1, 0])


def test_the_survey_finds_what_decides_and_that_tuned_stacks_are_alike():
    found = surveyed(made_map(), SAMPLE)
    assert min(found.weights[:2]) > max(found.weights[2:])
    assert found.standing["tuned"].right == 1
    assert found.standing["stock"].right > 0.8


def test_pictures_show_who_wins_where():
    rows = network_map(made_map(), SAMPLE).rows
    stock = [r for r in rows if r["pair"] == "stock"]
    slow_far = [r["faster"] for r in stock if float(r["x"]) < 5 and float(r["y"]) > 100]
    fast_near = [r["faster"] for r in stock if float(r["x"]) > 20 and float(r["y"]) < 30]
    assert min(slow_far) > 0 > max(fast_near)
    assert all(abs(r["faster"]) < 1 for r in rows if r["pair"] == "tuned")
    assert page_map(made_map(), SAMPLE).spec


def test_the_page_gets_every_cell_and_ten_thousand_stay_small():
    whole = structs.replace(SAMPLE, cells=10_000)
    cells, found = made_map(whole), surveyed(made_map(), SAMPLE)
    script = page_data(cells, whole, found, {})
    assert len(script) < MOST_BYTES
    told = msgspec.json.decode(script.removeprefix(b"window.dragstripMap = ").rstrip(b";\n"))
    assert len(told["cells"]) == len(cells)
    assert all(len(row) == len(told["factors"]) + len(told["stacks"]) for row in told["cells"])


def study_and_visits() -> tuple:
    networks = tuple(Network.parse(f"{rate}mbit/10ms") for rate in (1, 2, 3))
    base = made.study(runs=1)
    page = base.pages[0].name
    study = structs.replace(
        base,
        networks=networks,
        only=tuple((page, n.name, "first") for n in networks),
        sampled=True,
    )
    rows = [
        {
            "block": f"{page}|{network.name}|0",
            "attempt": attempt,
            "stack": stack.name,
            "page": page,
            "network": network.name,
            "valid": valid,
            "outcome": "loaded" if n or stack.name != "h3" else "timeout",
            "plt_ms": 100.0 * (n + 1) if n or stack.name != "h3" else None,
        }
        for n, network in enumerate(networks)
        for attempt, valid in [*([(0, False)] if n == 1 else []), (n % 2, n < 2)]
        for stack in study.stacks
    ]
    return study, pl.DataFrame(rows)


def test_cells_count_by_their_last_attempt_and_what_did_not_end_has_no_time():
    study, visits = study_and_visits()
    cells = cells_of(study, visits)
    assert cells["number"].to_list() == [0, 1], "the third was never valid"
    assert cells["plt_ms_h3"].to_list() == [None, 200.0]
    assert cells["down_mbps"].to_list() == [1, 2]
    assert ratios(cells, "h2", "h3").tolist() == [np.inf, 1.0]
    assert ratios(cells, "h3", "h2").tolist() == [0.0, 1.0]


def test_a_cell_that_lacks_a_stack_does_not_count():
    study, visits = study_and_visits()
    kept = visits.filter(~((pl.col("stack") == "h2") & (pl.col("attempt") == 1)))
    assert cells_of(study, kept)["number"].to_list() == [0]


def test_spots_are_drawn_by_a_seed():
    cells = made_map()
    assert spots(cells, 20, 1) == spots(cells, 20, 1)
    assert set(spots(cells, 20, 1)) != set(spots(cells, 20, 2))
    assert len(set(spots(cells, 1000, 1))) == len(cells)
