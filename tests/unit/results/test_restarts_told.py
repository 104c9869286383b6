"""Blocks are spread over starts of the testbed, and the report shows what differs between
starts."""

import random
from pathlib import Path

import polars as pl
import pytest
from msgspec import structs

import made
import made_capsule
from dragstrip.conduct.restarts import spread
from dragstrip.conduct.visits import make_visits
from dragstrip.model.clock import NETWORK
from dragstrip.model.errors import InputError
from dragstrip.model.study import Study
from dragstrip.report.data.answer import answer
from dragstrip.report.data.cells import cells
from dragstrip.report.words.numbers import ratio
from dragstrip.results.capsule import Capsule
from dragstrip.results.compare.stacks import compare_all
from dragstrip.results.manifest import Manifest
from dragstrip.results.tables.build import refresh, scan

BLOCKS = 24


def seen(tmp_path: Path, starts: int, sd: float, machines: int = 1) -> tuple[Study, pl.LazyFrame]:
    """Visits whose ratio h3 / h2 is 0.9, give or take `sd` in each start of the testbed."""
    draw = random.Random(f"{starts} {sd}")
    study = structs.replace(made_capsule.study(), runs=BLOCKS, restarts=starts)
    own = [draw.gauss(0, sd) for _ in range(starts)]
    with Capsule.create(tmp_path, Manifest(study=study, starts=(made_capsule.START,))) as capsule:
        for block in study.blocks():
            start = study.restart_of(block)
            for stack, base in (("h2", 1000.0), ("h3", 900.0 * (1 + own[start]))):
                capsule.append(
                    structs.replace(
                        made.visit(made.STACKS[stack].protocol, block=block.id),
                        stack=stack,
                        plt_ms=base * draw.gauss(1, 0.01),
                        seed=block.seed,
                        machine=f"m{start % machines}",
                        testbed=f"boot{start % machines}.{start}",
                    )
                )
    opened = Capsule.open(tmp_path)
    refresh(opened)
    return study, scan(opened, "visits")


def test_a_start_that_matters_widens_what_is_said_beside_the_interval(tmp_path):
    study, table = seen(tmp_path, starts=6, sd=0.03)
    (found,) = compare_all(study, table, ["plt_ms"])
    (one,) = found.between
    assert (one.level, one.units) == ("restart", 6)
    assert one.p < 0.001
    assert one.between > one.within > 0.005
    assert one.high - one.low > 2 * (found.high - found.low)
    assert f"; over 6 restarts {one.low:.3f} to {one.high:.3f}" in ratio(found)
    (cell,) = cells(study, table, ["plt_ms"])
    believe = answer(cell, 10).believe
    assert f"Over 6 restarts, h3 / h2 is {one.ratio:.3f}" in believe
    assert "from restart to restart" in believe


def test_starts_that_do_not_matter_are_told_apart_by_chance_alone(tmp_path):
    (found,) = compare_all(*seen(tmp_path, starts=6, sd=0.0), ["plt_ms"])
    (one,) = found.between
    assert one.p > 0.05
    assert one.between < one.within


def test_machines_and_boots_count_where_there_are_three(tmp_path):
    (found,) = compare_all(*seen(tmp_path, starts=6, sd=0.01, machines=3), ["plt_ms"])
    assert [(one.level, one.units) for one in found.between] == [
        ("machine", 3),
        ("boot", 3),
        ("restart", 6),
    ]


def test_of_one_start_nothing_is_said(tmp_path):
    (found,) = compare_all(*seen(tmp_path, starts=1, sd=0.0), ["plt_ms"])
    assert not found.between


def test_runs_are_spread_evenly_and_in_a_row():
    study = structs.replace(made.study(runs=7), restarts=3)
    assert [study.restart_of(block) for block in study.blocks()] == [0, 0, 0, 1, 1, 2, 2]


def test_more_restarts_than_runs_and_restarts_of_virtual_time_are_refused(tmp_path):
    with pytest.raises(InputError, match="3 runs need no more than 3"):
        spread(made.study(runs=3), 4)
    study = structs.replace(made.study(runs=3), restarts=2, clock=NETWORK)
    with pytest.raises(InputError, match="its own boot"):
        make_visits(study, tmp_path / "out")
