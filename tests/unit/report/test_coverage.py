"""The report says which part of its recording a page loaded, unless it was all."""

from msgspec import structs

import made
from dragstrip.model.visit import Visit
from dragstrip.report.data.coverage import coverage
from dragstrip.results.tables.build import frames


def said(*visits: Visit) -> list[str]:
    tables = {
        name: table.with_row_index("row").lazy()
        for name, table in frames(visits, made.study()).items()
    }
    return list(coverage(made.study(), tables, visits))


def test_a_load_of_all_that_ended_in_time_needs_no_word():
    assert said(made.visit()) == []


def test_what_no_load_asked_for_is_counted():
    visit = made.visit()
    less = structs.replace(visit, requests=visit.requests[:2], served=visit.served[:2])
    (sentence,) = said(less, less)
    assert sentence == (
        "made: no load asked for 1 of the recording's 3 objects (33.3 % of its bytes), such as "
        "https://a.test/2.png."
    )
    assert said(less, visit) == [], "one load that asked is enough"


def test_what_a_worker_asked_for_is_in_the_origins_log_alone():
    visit = made.visit()
    assert said(structs.replace(visit, requests=visit.requests[:2])) == []


def test_another_query_of_the_same_address_is_the_same_object():
    visit = made.visit()
    *others, last = visit.requests
    again = structs.replace(last, url=f"{last.url}?random=5")
    logged = structs.replace(visit.served[-1], url=again.url)
    served = (*visit.served[:-1], logged)
    assert said(structs.replace(visit, requests=(*others, again), served=served)) == []


def test_what_was_under_way_when_a_load_was_done_is_counted():
    visit = made.visit()
    last = visit.requests[-1]
    post = structs.replace(last, method="POST", end_ms=visit.plt_ms + 50)
    (sentence,) = said(structs.replace(visit, requests=(*visit.requests, post)))
    assert "(h2 1 in the mean)" in sentence
    assert "POST https://a.test/2.png" in sentence
    assert "network-idle" in sentence


def test_the_last_request_of_a_load_may_seem_to_end_just_after_it():
    visit = made.visit()
    last = structs.replace(visit.requests[-1], end_ms=visit.plt_ms + 1)
    assert said(structs.replace(visit, requests=(*visit.requests[:-1], last))) == []


def test_a_page_that_moves_on_tells_its_journey():
    (sentence,) = said(made.visit(documents=("https://a.test/", "https://a.test/b")))
    assert sentence.startswith("made moves on by itself, from https://a.test/ to https://a.test/b.")
