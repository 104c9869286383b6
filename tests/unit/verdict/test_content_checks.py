"""What differs honestly between a page and a visit of it is no mismatch."""

import pytest
from msgspec import structs

import made
from dragstrip.model.page import Resource, digest_of
from dragstrip.model.stack import Stack
from dragstrip.model.thresholds import DEFAULTS, Thresholds
from dragstrip.model.visit import Request, Served, Visit
from dragstrip.verdict.content_checks import as_recorded, complete

URL = "https://a.test/2.png"
OTHERS = (
    Resource(url="https://a.test/gone", method="GET", status=404, mime="", body_bytes=9),
    Resource(
        url="https://a.test/q?recorded",
        method="GET",
        status=200,
        mime="",
        body_bytes=5,
        decoded_bytes=5,
        digest=digest_of(b"query"),
    ),
    Resource(url="https://a.test/moved", method="GET", status=302, mime="", body_bytes=100),
    Resource(
        url="https://a.test/beacon",
        method="POST",
        status=204,
        mime="",
        body_bytes=0,
        decoded_bytes=0,
        digest=digest_of(b""),
    ),
)
PAGE = structs.replace(made.PAGE, resources=(*made.PAGE.resources, *OTHERS))


OURS = made.STACKS["h2"]


def said(
    request: Request | None, served: Served, stack: Stack = OURS, **changes: object
) -> list[str]:
    """Reasons against a visit with one more exchange."""
    honest = made.visit("h2", **changes)
    more = (request,) if request else ()
    visit = structs.replace(
        honest, requests=(*honest.requests, *more), served=(*honest.served, served)
    )
    return [r.detail for r in as_recorded(visit, PAGE, stack)]


def asked(url: str, **changes: object) -> Request:
    return structs.replace(made.request(url, "h2", 400.0), digest="", **changes)


HONEST = [
    (asked(URL, status=206, body_bytes=100), {"status": 206, "body_bytes": 100}),
    (asked(URL, status=416, body_bytes=0), {"status": 416, "body_bytes": 0}),
    (asked(URL, status=200), {"status": 304, "body_bytes": 0}),  # it was fetched before
    (asked(URL, method="HEAD", body_bytes=0), {"method": "HEAD", "body_bytes": 0}),
    (asked(URL, body_bytes=None), {}),
    (asked(URL, body_bytes=7, error="net::ERR_ABORTED"), {"end_us": 0}),
    (asked(URL, from_cache=True, body_bytes=0), {}),
    (asked(URL), {"body_bytes": 30_000}),  # to a client that takes no coding
    (asked(URL), {"digest": ""}),  # a server that does not say
    (asked("https://a.test/new", body_bytes=3), {"match": "miss", "status": 404}),
    (asked("https://a.test/gone", status=404), {"status": 404, "body_bytes": 9, "digest": ""}),
    (asked("https://a.test/moved", status=302), {"status": 302, "body_bytes": 100, "digest": ""}),
    (
        asked("https://a.test/q?today", body_bytes=5),
        {"match": "query", "body_bytes": 5, "digest": digest_of(b"query")},
    ),
    (
        asked("https://a.test/beacon", method="POST", status=204, body_bytes=0),
        {"method": "POST", "status": 204, "body_bytes": 0, "digest": digest_of(b"")},
    ),
    (
        asked(URL, method="OPTIONS", status=204, body_bytes=0),
        {"method": "OPTIONS", "match": "preflight", "status": 204, "body_bytes": 0},
    ),
]


@pytest.mark.parametrize(("request_", "line"), HONEST)
def test_what_differs_honestly(request_, line):
    assert said(request_, made.served(request_.url, "h2", **line)) == []


LIES = [
    (asked(URL), {"status": 404}, "status 404 instead of 200"),
    (asked(URL, status=404), {}, "status 404 instead of 200"),
    (asked(URL, status=206), {}, "status 206, while the origin sent 200"),
    (asked(URL), {"status": 206, "body_bytes": 20_001 + 10_000}, "30001 bytes of body"),
    (asked(URL), {"body_bytes": 1}, "1 bytes of body instead of 20000 or 30000"),
    (asked(URL, body_bytes=1), {}, "1 bytes of body instead of 30000"),
    (asked(URL), {"digest": "0" * 16}, "body 0000000000000000 instead of"),
    (asked("https://a.test/q?today", body_bytes=6), {"match": "query", "digest": ""}, "6 bytes"),
    (asked("https://a.test/1.js"), {"digest": digest_of(URL.encode())}, "body"),
]


@pytest.mark.parametrize(("request_", "line", "words"), LIES)
def test_what_does_not(request_, line, words):
    found = said(request_, made.served(request_.url, "h2", **line))
    assert any(words in detail for detail in found), found


@pytest.mark.parametrize(
    ("promised", "received", "lies"),
    [
        (5_000, {"received_us": 1, "received_bytes": 5_000}, 0),
        (5_000, {"received_us": 1, "received_bytes": 4_999}, 1),
        (5_000, {"received_us": 0, "received_bytes": 0}, 0),  # it broke off: an outcome
        (5_000, {}, 0),  # a server that does not say
        (0, {"received_us": 1, "received_bytes": 77}, 0),  # a page whose script decides
    ],
)
def test_an_upload_that_a_page_always_makes_arrives_whole(promised, received, lies):
    resource = structs.replace(made.PAGE.resources[1], method="POST", upload_bytes=promised)
    page = structs.replace(made.PAGE, resources=(*made.PAGE.resources, resource))
    line = made.served(resource.url, "h2", method="POST", **received)
    found = list(as_recorded(made.visit("h2", served=(line,), requests=()), page, OURS))
    assert len(found) == lies


def test_not_modified_belongs_to_those_who_have_it():
    fresh = made.visit("h2")
    unmodified = structs.replace(fresh.served[-1], status=304, body_bytes=0)
    first = structs.replace(fresh, served=(*fresh.served[:-1], unmodified))
    assert len(list(as_recorded(first, PAGE, OURS))) == 1
    assert list(as_recorded(structs.replace(first, connection="repeat-cached"), PAGE, OURS)) == []


def test_a_manifest_of_old_knows_neither_sizes_nor_hashes():
    old = tuple(structs.replace(r, decoded_bytes=None, digest="") for r in made.PAGE.resources)
    page = structs.replace(made.PAGE, resources=old)
    lie = made.served(URL, "h2", digest="0" * 16)
    visit = made.visit("h2", served=(lie,), requests=(asked(URL, body_bytes=1),))
    assert list(as_recorded(visit, page, OURS)) == []


def without(count: int, **changes: object) -> Visit:
    """A visit that never asked for `count` of the page's three objects."""
    honest = made.visit("h2")
    return structs.replace(honest, requests=honest.requests[: 3 - count], served=(), **changes)


@pytest.mark.parametrize(
    ("lacking", "share", "mismatch"),
    [(0, 0.0, False), (1, 0.0, True), (1, 1 / 3, False), (2, 1 / 3, True)],
)
def test_every_rehearsed_object_is_asked_for_but_for_a_share(lacking, share, mismatch):
    limits = Thresholds(missing_share=share)
    assert bool(list(complete(without(lacking), made.PAGE, limits))) == mismatch


def test_without_a_rehearsal_or_a_load_nothing_is_missed():
    assert list(complete(without(2, rehearsed=None), made.PAGE, DEFAULTS)) == []
    assert list(complete(without(2, outcome="timeout", plt_ms=None), made.PAGE, DEFAULTS)) == []


@pytest.mark.parametrize(
    "late", [{"end_ms": None}, {"end_ms": 901.0}, {"error": "net::ERR_TIMED_OUT"}]
)
def test_what_depends_on_what_came_late_may_be_missing(late):
    """An asynchronous script is still under way when the visit ends."""
    visit = without(1)
    first, second = visit.requests
    visit = structs.replace(visit, requests=(first, structs.replace(second, **late)))
    assert list(complete(visit, made.PAGE, DEFAULTS)) == []
