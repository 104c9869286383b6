"""The league page: every number of the result in HTML, Markdown, JSON and badges."""

import json

import msgspec
import pytest
from msgspec import structs

from dragstrip.league.page import write
from dragstrip.league.result import LeagueResult, result
from dragstrip.league.words import value, where
from written_pages import made_league


@pytest.fixture
def league(tmp_path):
    return made_league(tmp_path)


def test_every_page_has_ranks_versions_and_what_is_missing(league, tmp_path):
    found = result(league)
    page = write(found, tmp_path).read_text()
    text = (tmp_path / "league.md").read_text()
    for written in (page, text):
        assert "10 visits, 0 of them invalid (0.0 %), in virtual time without computing" in written
        assert "1.201 (1." in written
        assert f"dragstrip why {tmp_path}/pages --stack h3 --stack h2" in written
        assert "CPU per byte" in written
        assert "quic-go" in written
        assert "slow" in written
    assert "| 1 | h3 | " in text
    assert "| 2 | h2 |" in text
    assert "It decides itself: congestion control, initial window" in text
    assert "of its own choice" not in text
    assert "it is &lt;bad&gt;" in page
    assert "no &lt;link&gt;" in page
    assert "did &lt;not&gt;" in page
    assert (tmp_path / "pages" / "report" / "index.html").exists()
    assert "<svg" in (tmp_path / "pictures" / "pages.svg").read_text()


def test_a_gap_has_what_the_traffic_of_its_visits_points_to(tmp_path):
    found = result(made_league(tmp_path, lost={"h2": 4}))
    (cause,) = found.disciplines[0].causes
    (said,) = cause.seen
    assert said.startswith("h2: the link dropped 4 packets more. This points to ")
    page = write(found, tmp_path).read_text()
    text = (tmp_path / "league.md").read_text()
    for written in (page, text):
        assert "what the traffic of their visits points to:" in written
        assert "the link dropped 4 packets more" in written


def test_what_burdens_the_leader_explains_no_gap(tmp_path):
    found = result(made_league(tmp_path, lost={"h3": 4}))
    assert [cause.seen for cause in found.disciplines[0].causes] == [()]


def test_equal_traffic_points_to_nothing(league, tmp_path):
    found = result(league)
    assert [cause.seen for cause in found.disciplines[0].causes] == [()]
    write(found, tmp_path)
    assert "points to" not in (tmp_path / "league.md").read_text()


def test_a_gap_has_the_settings_that_its_discipline_is_about(tmp_path):
    (ran, _), league = (made := made_league(tmp_path)).ran, made
    about = structs.replace(ran.discipline, about=("congestion control", "priorities"))
    found = result(structs.replace(league, ran=(structs.replace(ran, discipline=about),)))
    assert found.disciplines[0].causes[0].seen == ()  # h2 and h3 have both alike
    deaf = structs.replace(ran.study.stacks[0], priorities=False)
    study = structs.replace(ran.study, stacks=(deaf, ran.study.stacks[1]))
    ran = structs.replace(ran, discipline=about, study=study)
    found = result(structs.replace(league, ran=(ran,)))
    assert found.disciplines[0].causes[0].seen == ("h2: no priorities; h3: obeys priorities.",)


def test_cpu_time_is_shown_per_request_and_traffic_does_not_explain_it(tmp_path):
    (ran, _), league = (made := made_league(tmp_path, lost={"h2": 4})).ran, made
    asked = structs.replace(
        ran.discipline, metric="server_cpu_ms", per="request", real_time=True, name="cpu-requests"
    )
    found = result(structs.replace(league, ran=(structs.replace(ran, discipline=asked),)))
    (cpu,) = found.disciplines
    standing = structs.replace(cpu.standings[0], value=cpu.amount * 0.25)
    assert cpu.amount == len(ran.study.pages[0].resources)
    assert value(cpu, standing).endswith(", 250 \N{MICRO SIGN}s per request")
    assert where(cpu).endswith("in real time")
    assert all(not cause.seen for cause in cpu.causes)
    assert not [said for said in found.not_measured if said.startswith("CPU per request")]
    assert [said for said in found.not_measured if said.startswith("CPU per byte")]


def test_the_json_can_be_read_back(league, tmp_path):
    found = result(league)
    write(found, tmp_path)
    again = msgspec.json.decode((tmp_path / "league.json").read_bytes(), type=LeagueResult)
    assert again == found
    assert again.hours == 2


def test_a_badge_per_server_and_discipline(league, tmp_path):
    write(result(league), tmp_path)
    badges = json.loads((tmp_path / "badges.json").read_text())
    assert badges["h3"]["pages"] == {
        "schemaVersion": 1,
        "label": "h3 pages",
        "message": "rank 1 of 2",
        "color": "brightgreen",
    }
    assert badges["h2"]["pages"]["color"] == "orange"
