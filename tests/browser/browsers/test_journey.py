"""A page that moves on by itself: its load is the whole journey to the last document."""

import pytest

from conftest import Track
from dragstrip.model.network import Network
from dragstrip.model.visit import Visit
from page_loads import BROWSERS, SITE, answer, load, told
from recordings import PIXEL

_THINKS_MS = 150
_FAR = Network.parse("10mbit/75ms")
_LAST = b"<!doctype html><title>last</title><p>There</p><img src=/late.gif>"
_FORM = b'<form action="/last"></form><script>document.forms[0].submit()</script>'
FIRST = {
    "a script": b"<script>location = '/last'</script>",
    "a script and images": b"<img src=/slow.gif><script>location = '/last'</script>",
    "a script after load": b"<script>onload = () => location.replace('/last')</script>",
    "a script in the quiet time": b"<script>setTimeout(() => location = '/last', 60)</script>",
    "a refresh": b'<meta http-equiv="refresh" content="0; url=/last">',
    "a form": _FORM,
}


def visited(track: Track, which: str, html: bytes, stack: str = "h2", done: str = "load") -> Visit:
    answers = (
        answer("/", "text/html", b"<!doctype html><title>first</title><p>Here</p>" + html),
        answer("/last", "text/html", _LAST, think_ms=_THINKS_MS),
        answer("/last?", "text/html", _LAST, think_ms=_THINKS_MS),
        answer("/late.gif", "image/gif", PIXEL),
        answer("/slow.gif", "image/gif", PIXEL, think_ms=20_000),
        answer("/none", "text/html", b"", status=204),
    )
    return load(track, answers, which, done=done, stack=stack)


@pytest.mark.parametrize("which", BROWSERS)
@pytest.mark.parametrize("how", FIRST)
def test_the_load_ends_with_the_last_document(track, which, how):
    made = visited(track, which, FIRST[how])
    assert (made.outcome, told(made)) == ("loaded", [])
    first, last = made.documents
    assert first == f"{SITE}/"
    assert last.removesuffix("?") == f"{SITE}/last"
    (image,) = (r for r in made.requests if r.url == f"{SITE}/late.gif")
    assert made.plt_ms >= image.end_ms > image.start_ms > _THINKS_MS
    assert made.requests[0].start_ms == pytest.approx(0, abs=0.01), (
        "times count from the first document"
    )
    assert made.fcp_ms > _THINKS_MS
    assert made.plt_ms >= made.dcl_ms > _THINKS_MS


@pytest.mark.parametrize("stack", ["h1", "h3"])
@pytest.mark.parametrize("which", BROWSERS)
def test_it_does_so_over_every_protocol(track, which, stack):
    made = visited(track, which, FIRST["a script"], stack)
    assert (made.outcome, len(made.documents), told(made)) == ("loaded", 2, [])


@pytest.mark.parametrize("which", BROWSERS)
@pytest.mark.parametrize("done", ["network-idle", "selector:img"])
def test_what_a_page_waits_for_is_waited_for_in_the_last_document(track, which, done):
    made = visited(track, which, FIRST["a script"], done=done)
    assert (made.outcome, len(made.documents), told(made)) == ("loaded", 2, [])
    assert made.plt_ms > _THINKS_MS


@pytest.mark.parametrize(
    "html",
    [
        b"<script>location.hash = 'there'; history.pushState({}, '', '/elsewhere')</script>",
        b"<script>setTimeout(() => location = '/last', 60000)</script>",
        b'<meta http-equiv="refresh" content="300; url=/last">',
        b"<iframe src=/last></iframe>",
        b"<script>onload = () => location = '/none'</script>",
    ],
    ids=["same document", "later", "refresh later", "frame", "no content"],
)
@pytest.mark.parametrize("which", BROWSERS)
def test_a_page_that_stays_has_one_document(track, which, html):
    made = visited(track, which, html)
    assert (made.outcome, len(made.documents), told(made)) == ("loaded", 1, [])


@pytest.mark.parametrize("which", BROWSERS)
def test_a_page_that_moves_on_into_nothing_failed(track, which):
    made = visited(track, which, b"<script>location = 'https://nobody.test/'</script>")
    assert made.outcome == "failed"
    assert "the page moved on" in made.error


@pytest.mark.parametrize("which", BROWSERS)
@pytest.mark.parametrize("stack", ["h1", "h2", "h3"])
def test_what_a_closing_tab_sends_is_not_of_the_visit(track, which, stack):
    """Firefox sends a request with `keepalive` again over TCP when its tab closes."""
    asks = answer("/", "text/html", b"<script>fetch('/last', {keepalive: true})</script>")
    answers = (asks, answer("/last", "text/html", _LAST))
    made = load(track, answers, which, stack=stack, network=_FAR)
    assert (made.outcome, told(made)) == ("loaded", [])
    assert {s.protocol for s in made.served} == {stack}
