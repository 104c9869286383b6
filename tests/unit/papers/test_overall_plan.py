"""The plan: campaigns in order of answers an hour, with commands that can be given."""

import shlex
from pathlib import Path

import pytest
from msgspec import structs
from typer.testing import CliRunner

from dragstrip.cli import app
from dragstrip_papers.campaign.pace import pace
from dragstrip_papers.claims import published
from dragstrip_papers.overall.campaign import Campaign, campaigns
from dragstrip_papers.overall.given import Given, Told
from dragstrip_papers.overall.needs import powers
from dragstrip_papers.overall.plan import already_made, plan
from dragstrip_papers.overall.rows import rows

ROOT = next(p for p in Path(__file__).parents if (p / "pyproject.toml").exists())
POWERS = powers(ROOT / "docs" / "reference" / "claims-power.json")
PACE, KNOWN = pace(), campaigns()
OPEN = rows([published("cook2017"), published("biswal2016")], [], POWERS)


def campaign(name, blocks, *studies, way="virtual", paper="cook2017", pages=()):
    return Campaign(
        name=name, paper=paper, blocks=blocks, way=way, says="", studies=studies, pages=pages
    )


def test_the_most_answers_an_hour_come_first():
    steps = plan(
        OPEN,
        POWERS,
        PACE,
        [campaign("v", 100, "cook2017-servers"), campaign("b", 5, "cook2017", way="browser")],
    )
    assert [step.campaign.name for step in steps] == ["b", "v"]
    rates = [step.answers / step.hours for step in steps]
    assert rates == sorted(rates, reverse=True)


def test_what_a_folder_has_is_neither_paid_nor_counted_twice():
    small, large = campaign("v", 5, "cook2017-servers"), campaign("v", 100, "cook2017-servers")
    first, second = plan(OPEN, POWERS, PACE, [large, small])
    assert (first.campaign.blocks, second.campaign.blocks) == (5, 100)
    assert second.hours == pytest.approx(19 * first.hours)
    assert first.claims == ("cook2017-15", "cook2017-16")
    assert second.answers < first.answers


def test_what_half_of_the_loads_left_open_is_not_hoped_of_the_rest():
    small = campaign("v", 5, "cook2017-servers")
    for made, hopes in ((2, True), (3, False)):
        begun = {"v": dict.fromkeys(small.costs(PACE), made)}
        (step,) = plan(OPEN, POWERS, PACE, [small], begun)
        assert (step.answers > 0) == hopes


def test_fewer_loads_than_a_claim_asks_for_spend_nothing():
    counts = campaign("c", 31, "wolsing2019", way="browser", paper="wolsing2019")
    open_ = rows([published("wolsing2019")], [], POWERS)
    for made, hopes in ((30, True), (31, False)):
        begun = {"c": dict.fromkeys(counts.costs(PACE), made)}
        steps = plan(open_, POWERS, PACE, [structs.replace(counts, blocks=32)], begun)
        assert ("wolsing2019-27" in steps[0].claims) == hopes


def test_what_was_run_before_is_not_planned_again():
    small, large = campaign("v", 5, "cook2017-servers"), campaign("v", 100, "cook2017-servers")
    _, second = plan(OPEN, POWERS, PACE, [large, small])
    begun = {"v": dict.fromkeys(small.costs(PACE), 5), "another": {}}
    (step,) = plan(OPEN, POWERS, PACE, [large, small], begun)
    assert step.campaign.blocks == 100
    assert step.hours == pytest.approx(second.hours)
    assert step.answers == pytest.approx(second.answers)


def test_kept_answers_say_what_was_run():
    cells = campaign("v", 5, "cook2017-servers").costs(PACE)
    whole = Told(id="cook2017-15", answer="open", loads=5, run=8)
    part = Told(id="cook2017-14", answer="open", loads=5, run=13)  # of 14
    given = Given(
        paper="cook2017",
        page="v",
        way="virtual",
        clock="network",
        made="2026-11-25",
        rules="",
        frozen=True,
        source="capsule",
        command="",
        answers=(whole, part),
    )
    assert already_made([given]) == {"v": dict.fromkeys(cells, 5)}
    published_page = structs.replace(given, source="published page")
    assert already_made([published_page]) == {"v": {}}


def test_a_claim_over_several_studies_is_answered_once_all_of_them_ran():
    grid = campaign("g", 5, "biswal2016", "biswal2016-sites", paper="biswal2016")
    live = campaign("g", 5, "biswal2016-live", paper="biswal2016")
    steps = plan(OPEN, POWERS, PACE, [grid, live])
    assert "biswal2016-25" not in steps[0].claims
    assert "biswal2016-25" in steps[1].claims


def test_virtual_time_answers_nothing_that_only_computing_delays():
    (step,) = plan(OPEN, POWERS, PACE, [campaign("v", 5, "cook2017")])
    assert "cook2017-01" not in step.claims  # from no delay to 200 ms
    assert "cook2017-17" in step.claims  # in round trips


@pytest.mark.parametrize("one", KNOWN, ids=lambda one: f"{one.name}-{one.blocks}")
def test_every_command_can_be_given(one, monkeypatch):
    monkeypatch.chdir(ROOT)
    cells = len(one.cells())
    assert cells
    for command in one.commands():
        program, *words = shlex.split(command)
        assert program == "dragstrip"
        made = CliRunner().invoke(app, [*words, "--dry-run"], catch_exceptions=False)
        assert made.exit_code == 0, made.output
    if one.way != "loader":
        counted = [line.split() for line in made.output.splitlines() if line.startswith(one.paper)]
        assert sum(int(line[1]) for line in counted) == cells
