"""Disciplines at each scale, their studies, and who takes part."""

from pathlib import Path

import pytest
from msgspec import structs

from dragstrip.conduct.options import RunOptions
from dragstrip.league.disciplines import ORDER, known
from dragstrip.league.entries import Entry, entries, in_discipline
from dragstrip.league.plan import (
    LEAST_RUNS,
    LeagueRequest,
    chosen,
    cost_of,
    options_of,
    study_of,
    why_commands,
)
from dragstrip.model.errors import InputError
from dragstrip.model.stack import NAMES
from dragstrip.study.presets import find_stack
from dragstrip.visit.objects import find_metric

VIRTUAL = RunOptions(computing=False)


def entry_of(name):
    return Entry(stack=find_stack(name), version="1")


@pytest.mark.parametrize("discipline", list(known()), ids=ORDER)
def test_every_discipline_becomes_a_study(discipline, tmp_path, monkeypatch):
    small = structs.replace(discipline, pages=("synth:1x1KB",))
    study = study_of(
        small, [entry_of("h3"), entry_of("nginx-h3")], LeagueRequest(), VIRTUAL, tmp_path
    )
    assert find_metric(discipline.metric).better == "lower"
    assert set(discipline.about) <= set(NAMES.values())
    assert study.clock.virtual != discipline.real_time
    assert study.predicted == (discipline.client == "loader")
    assert len(study.networks) == len(discipline.networks)
    assert cost_of(study, tmp_path / "none", VIRTUAL).visits == len(study.cells()) * 2 * study.runs


def test_only_the_full_scale_has_the_large_object():
    usual = [d.name for d in known() if not d.real_time]
    assert [d.name for d in chosen(LeagueRequest())] == usual
    for scale in ("0.5", "small", "smoke"):
        assert [d.name for d in chosen(LeagueRequest(scale=scale))] == [
            n for n in usual if n != "bulk-large"
        ]
    assert [d.name for d in chosen(LeagueRequest(scale="small", disciplines=("bulk-large",)))]


@pytest.mark.parametrize(("scale", "runs"), [("paper", 20), ("0.5", 10), ("0.01", LEAST_RUNS)])
def test_a_share_never_goes_below_the_runs_of_an_interval(scale, runs):
    (found,) = chosen(LeagueRequest(scale=scale, disciplines=("pages",)))
    assert (found.runs, len(found.networks)) == (runs, 3)


def test_computing_is_measured_in_real_time_by_one_visit_at_a_time_and_only_if_named():
    (found,) = chosen(LeagueRequest(disciplines=("cpu-bytes",)))
    assert not any(d.name.startswith("cpu") for d in chosen(LeagueRequest()))
    options = structs.replace(VIRTUAL, jobs=2)
    assert options_of(found, options) == RunOptions(jobs=1)
    (pages,) = chosen(LeagueRequest(disciplines=("pages",)))
    assert options_of(pages, options) == options


def test_conformance_is_chosen_like_a_discipline():
    assert LeagueRequest().conform
    assert not LeagueRequest(scale="smoke").conform
    assert not LeagueRequest(disciplines=("pages",)).conform
    named = LeagueRequest(disciplines=("pages", "conformance"), scale="smoke")
    assert named.conform
    assert [d.name for d in chosen(named)] == ["pages"]


def test_small_and_smoke_are_one_cell(tmp_path):
    for scale, runs in (("small", LEAST_RUNS), ("smoke", 1)):
        (found,) = chosen(LeagueRequest(scale=scale, disciplines=("pages",)))
        assert (len(found.pages), len(found.networks), found.runs) == (1, 1, runs)


def test_a_page_of_the_user_joins_the_disciplines_of_pages():
    found = {d.name: d.pages for d in chosen(LeagueRequest(pages=("mine.har.zip",)))}
    assert all(
        ("mine.har.zip" in pages) == (n in ("pages", "repeat", "loss"))
        for n, pages in found.items()
    )


def test_an_unknown_discipline_names_the_others():
    with pytest.raises(InputError, match=r"unknown discipline 'page' .did you mean 'pages'"):
        chosen(LeagueRequest(disciplines=("page",)))


def test_early_data_is_asked_of_servers_that_can():
    for name, early in (("h3", True), ("nginx-h3", True), ("envoy-h3", False), ("bun-h3", False)):
        assert in_discipline(entry_of(name), early_data=True).early_data is early
        assert not in_discipline(entry_of(name), early_data=False).early_data


def test_servers_that_are_not_installed_are_named(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    there, absent = entries("h3")
    assert there[0].name == "h3"
    whys = {one.server: one.why for one in absent}
    assert whys["nginx"] == "not installed: dragstrip servers install nginx"
    assert "nghttpx" not in whys  # it speaks no h3


def test_each_gap_has_a_command():
    (found,) = chosen(LeagueRequest(scale="small", disciplines=("priorities",)))
    ((name, command),) = why_commands(found, "h3", ["nginx-h3"], Path("out/priorities"))
    assert name == "nginx-h3"
    assert command == (
        "dragstrip why out/priorities --stack h3 --stack nginx-h3 --metric object:/urgent.css:took"
    )
