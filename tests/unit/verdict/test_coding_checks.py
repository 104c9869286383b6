"""A stack that claims a content coding: each lie is caught, and honest answers are believed."""

import pytest
from msgspec import structs

import made
from dragstrip.model.stack import Stack
from dragstrip.model.visit import Visit
from dragstrip.study.presets import find_stack
from dragstrip.verdict.coding_checks import coded
from dragstrip.verdict.content_checks import as_recorded

PAGE = structs.replace(
    made.PAGE,
    resources=tuple(
        structs.replace(resource, mime=mime, decoded_bytes=30_000)
        for resource, mime in zip(
            made.PAGE.resources, ("text/html", "text/css", "image/png"), strict=True
        )
    ),
)
GZIP = structs.replace(find_stack("h2"), compress="gzip:6")
PLAIN = structs.replace(find_stack("h2"), compress="identity")


def seen(*codings: str, **changes: object) -> Visit:
    """The page's objects as they came; `changes` are those of the second one."""
    base = made.visit()
    requests = [
        structs.replace(request, coding=coding)
        for request, coding in zip(base.requests, codings, strict=True)
    ]
    requests[1] = structs.replace(requests[1], **changes)
    return structs.replace(base, requests=tuple(requests))


def against(visit: Visit, stack: Stack = GZIP) -> list[str]:
    return [r.detail for r in coded(visit, PAGE, stack) if r.code == "stack-drift"]


@pytest.mark.parametrize(
    ("visit", "stack"),
    [
        (seen("gzip", "gzip", ""), GZIP),
        (seen("gzip", "gzip", "br"), GZIP),  # a picture stays as it was recorded
        (seen("", "", ""), PLAIN),
        (seen("gzip", "", "", from_cache=True), GZIP),
        (seen("gzip", "", "", status=206), GZIP),
        (seen("gzip", "", "", status=304), GZIP),
        (seen("gzip", "", "", error="net::ERR_CONNECTION_RESET"), GZIP),
        (seen("gzip", "", "", protocol=None), GZIP),
        (seen("gzip", "", "", url="https://a.test/invented", status=404), GZIP),
        (seen("br", "", "zstd"), find_stack("h2")),
        (seen("br", "", ""), find_stack("nginx-h2")),
    ],
)
def test_an_honest_coding_is_believed(visit, stack):
    assert against(visit, stack) == []


@pytest.mark.parametrize(
    ("visit", "stack", "said"),
    [
        (seen("gzip", "", ""), GZIP, "1 answers did not come as gzip:6 codes them"),
        (seen("br", "br", ""), GZIP, "2 answers"),
        (seen("gzip", "", ""), PLAIN, "1 answers did not come as identity codes them"),
        (seen("gzip", "", "", status=404), GZIP, "(plain)"),
    ],
)
def test_each_lie_about_the_coding_is_drift(visit, stack, said):
    (detail,) = against(visit, stack)
    assert said in detail


def test_small_bodies_come_plain():
    small = structs.replace(PAGE.resources[1], decoded_bytes=255)
    page = structs.replace(PAGE, resources=(PAGE.resources[0], small, PAGE.resources[2]))
    assert list(coded(seen("gzip", "", ""), page, GZIP)) == []
    (reason,) = coded(seen("gzip", "gzip", ""), page, GZIP)
    assert reason.code == "stack-drift"


def test_the_server_may_send_coded_bodies_of_any_size_but_not_another_body():
    visit = seen("gzip", "gzip", "")
    css = structs.replace(visit.served[1], body_bytes=1_234)
    honest = structs.replace(visit, served=(visit.served[0], css, visit.served[2]))
    assert list(as_recorded(honest, PAGE, GZIP)) == []
    assert list(as_recorded(honest, PAGE, find_stack("h2")))
    picture = structs.replace(visit.served[2], body_bytes=1_234)
    assert list(as_recorded(structs.replace(visit, served=(picture,)), PAGE, GZIP))
    other = structs.replace(css, digest="0123456789abcdef")
    (reason,) = as_recorded(structs.replace(visit, served=(other,)), PAGE, GZIP)
    assert reason.code == "content-mismatch"
    cut = structs.replace(visit.requests[1], body_bytes=1_200)
    seen_cut = structs.replace(honest, requests=(visit.requests[0], cut, visit.requests[2]))
    (reason,) = as_recorded(seen_cut, PAGE, GZIP)
    assert "1200 bytes of body instead of 30000" in reason.detail
