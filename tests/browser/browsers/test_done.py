"""When a page counts as loaded, and what happens to a load that never ends."""

import pytest

from conftest import Track
from dragstrip.browsers.errors import BrowserError
from dragstrip.model.study import Client
from dragstrip.model.visit import Visit
from dragstrip.visit.objects import find_metric
from page_loads import BRIEF, BROWSERS, PATIENT, answer, load, told
from recordings import PIXEL

_TRIES = 3
HTML = b"""<!doctype html><title>x</title><body><p>Hello</p><script>
const hero = '<img id=hero src="/hero.gif">';
setTimeout(() => document.body.insertAdjacentHTML("beforeend", hero), 300);
setTimeout(() => performance.mark("ready"), 400);
setTimeout(() => fetch("/late.json"), 500);
</script>"""
BEACON = b'<img src="/beacon.gif">'
DONE = {"load": 0, "selector:#hero": 300, "mark:ready": 400}
"""Milliseconds after the document before which the page does not count as loaded."""


def make(
    track: Track,
    which: str,
    done: str,
    html: bytes = HTML,
    stack: str = "h2",
    client: Client = PATIENT,
) -> Visit:
    answers = (
        answer("/", "text/html", html),
        answer("/hero.gif", "image/gif", PIXEL),
        answer("/late.json", "application/json", b"{}"),
        answer("/beacon.gif", "image/gif", PIXEL, think_ms=60_000),
    )
    return load(track, answers, which, done=done, stack=stack, client=client)


@pytest.mark.parametrize("which", BROWSERS)
@pytest.mark.parametrize("done", DONE)
def test_a_page_counts_as_loaded_when_it_says(track, which, done):
    made = make(track, which, done)
    assert (made.outcome, made.done, told(made)) == ("loaded", done, [])
    assert made.plt_ms >= DONE[done]
    hero = find_metric("object:/hero.gif:end").measure(made, None, None)
    if done == "selector:#hero":
        assert made.plt_ms >= hero, "an image is seen when it has arrived"
    if done == "load":
        assert hero is None or hero > made.plt_ms


@pytest.mark.parametrize("which", BROWSERS)
def test_the_network_is_idle_after_the_last_request_of_many(track, which):
    made = make(track, which, "network-idle")
    assert (made.outcome, told(made)) == ("loaded", [])
    late = find_metric("object:/late.json:end").measure(made, None, None)
    assert made.plt_ms == pytest.approx(late), "each gap before is shorter than half a second"


@pytest.mark.parametrize("which", BROWSERS)
@pytest.mark.parametrize("stack", ["h1", "h2", "h3"])
def test_a_load_that_hangs_keeps_what_was_seen(track, which, stack):
    for _ in range(_TRIES):  # on a busy machine Firefox may leave HTTP/3
        made = make(track, which, "load", HTML + BEACON, stack, BRIEF)
        if not told(made):
            break
    assert (made.outcome, made.plt_ms, told(made)) == ("timeout", None, [])
    document, *_ = made.requests
    if which != "firefox":  # Firefox cannot tell over HTTP/1.1 and TLS
        assert made.ttfb_ms == pytest.approx(document.response_start_ms, abs=5)
        assert made.ttfb_ms < made.fcp_ms < 1000 * BRIEF.timeout_s
    assert made.dcl_ms is not None
    assert find_metric("object:/hero.gif:end").measure(made, None, None) > 300
    assert find_metric("object:/beacon.gif:end").measure(made, None, None) is None


@pytest.mark.parametrize("which", BROWSERS)
def test_a_page_may_count_as_loaded_although_it_hangs(track, which):
    made = make(track, which, "selector:#hero", HTML + BEACON)
    assert (made.outcome, told(made)) == ("loaded", [])
    assert made.plt_ms >= 300


@pytest.mark.parametrize("which", BROWSERS)
def test_what_never_comes_is_a_timeout_and_what_is_no_selector_an_error(track, which):
    assert make(track, which, "mark:never", client=BRIEF).outcome == "timeout"
    with pytest.raises(BrowserError, match=r"done selector:#: .*selector"):
        make(track, which, "selector:#")
