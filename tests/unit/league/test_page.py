"""The league page: every number of the result in HTML, Markdown, JSON and badges."""

import json

import msgspec
import pytest
from msgspec import structs

from dragstrip.conduct.conformance import ConformanceResult
from dragstrip.league.disciplines import Discipline
from dragstrip.league.entries import Absent, Entry
from dragstrip.league.page import write
from dragstrip.league.plan import LeagueRequest
from dragstrip.league.result import LeagueResult, result
from dragstrip.league.run import DisciplineRun, League
from dragstrip.model.clock import NETWORK
from dragstrip.study.presets import find_stack
from made_capsule import capsule, study

DISCIPLINE = Discipline(
    name="pages",
    title="Pages",
    what="Loads.",
    pages=("demo",),
    networks=("LTE",),
    metric="plt_ms",
    runs=5,
)


@pytest.fixture
def league(tmp_path):
    of = structs.replace(study(), runs=5)
    capsule(tmp_path / "pages", {"h2": [1200.0, 1210, 1190, 1202, 1201], "h3": [1000.0] * 5}, of=of)
    point = ConformanceResult(protocol="h3", what="resumes", outcome="no", said="it did <not>")
    bad = DisciplineRun(
        discipline=structs.replace(DISCIPLINE, name="loss", title="Loss"),
        capsule=tmp_path,
        study=None,
        said="no <link>",
    )
    return League(
        asked=LeagueRequest(scale="small"),
        out=tmp_path,
        entries=tuple(Entry(stack=find_stack(n), version="1") for n in ("h2", "h3", "nginx-h3")),
        absent=(Absent(server="quic-go", why="not installed"),),
        ran=(
            DisciplineRun(
                discipline=DISCIPLINE,
                capsule=tmp_path / "pages",
                study=of,
                left_out=(Absent(server="slow", why="it is <bad>"),),
            ),
            bad,
        ),
        conformance={"h3": (point,)},
        spent_s=7200,
        clock=NETWORK,
    )


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
