"""The report names requests that the recording could not answer, and counts them by stack."""

from msgspec import structs

import made
from dragstrip.model.visit import Request, Visit, address
from dragstrip.report.data.fidelity import PageFidelity, fidelity
from dragstrip.results.tables.build import frames


def of(*visits: Visit) -> tuple[PageFidelity, ...]:
    study = made.study()
    return fidelity(study, {name: table.lazy() for name, table in frames(visits, study).items()})


def test_every_kind_of_gap_is_named_with_its_stack():
    miss = made.served("https://a.test/ad;r=1?x=2", "h2", match="miss", status=404)
    near = made.served("https://a.test/api?t=9", "h2", match="query")
    lost = Request(
        url="https://gone.test/x?y",
        host="gone.test",
        protocol=None,
        error="net::ERR_NAME_NOT_RESOLVED",
        start_ms=1.0,
    )
    slow = structs.replace(lost, url="https://a.test/slow", error="")
    visit = made.visit("h2")
    visit = structs.replace(
        visit, served=(*visit.served, miss, near), requests=(*visit.requests, lost, slow)
    )
    (found,) = of(visit, made.visit("h3"))
    assert (found.asked, found.recorded) == (3, 3)
    assert found.visits == {"h2": 1, "h3": 1}
    answers = {gap.address: gap.answer for gap in found.gaps}
    assert set(answers) == {
        "https://a.test/ad",
        "https://a.test/api",
        "https://gone.test/x",
        "https://a.test/slow",
    }
    assert "404" in answers["https://a.test/ad"]
    assert "no such host" in answers["https://gone.test/x"]
    assert "under way" in answers["https://a.test/slow"]
    assert all(gap.requests == {"h2": 1} for gap in found.gaps)


def test_a_faithful_replay_has_no_gaps_and_an_unvisited_page_no_entry():
    (found,) = of(made.visit())
    assert found.gaps == ()
    assert of() == ()


def test_an_address_has_neither_query_nor_path_parameters():
    assert address("https://a.test/p;r=1;s=2?x") == "https://a.test/p"
    assert address("https://a.test/p?x;y") == "https://a.test/p"
