"""Pages whose frames fail, that open windows or ask for client hints are right loads."""

import pytest

from page_loads import BROWSERS, answer, load, told

_FRAMES = (
    "<iframe src='https://gone.test/'></iframe>"
    "<iframe src='/refused'></iframe>"
    "<iframe src='/nothing'></iframe>"
    "<iframe src='/missing'></iframe>"
    "<object data='/missing'>instead</object>"
)
_WINDOWS = (
    "<a id=link href='/other' target=_blank>other</a>"
    "<script>window.open('/other'); link.click()</script>"
)


@pytest.mark.parametrize("which", [*BROWSERS, "whole"])
@pytest.mark.parametrize("body", [_FRAMES, _WINDOWS], ids=["frames", "windows"])
def test_a_load_is_right(track, which, body):
    html = f"<!doctype html><title>frames</title><link rel=icon href='data:,'><p>Here</p>{body}"
    answers = [
        answer("/", "text/html", html.encode()),
        answer("/refused", "text/html", b"<p>refused", headers=(("x-frame-options", "DENY"),)),
        answer("/nothing", "text/html", b"", status=204),
        answer("/missing", "text/html", b"<p>missing", status=404),
        answer("/other", "text/html", b"<p>other"),
    ]
    made = load(track, answers, which)
    assert (made.outcome, told(made)) == ("loaded", [])
    asked = {r.url for r in made.requests}
    assert not any(url.endswith("/other") for url in asked)
    for request in made.requests:
        assert request.wire_bytes < 5_000, request


@pytest.mark.parametrize("which", BROWSERS)
def test_a_navigation_that_begins_again_with_client_hints_is_right(track, which):
    hints = "Sec-CH-Prefers-Color-Scheme"
    said = (("accept-ch", hints), ("critical-ch", hints), ("vary", hints))
    html = b"<!doctype html><title>hints</title><link rel=icon href='data:,'><p>Here</p>"
    made = load(track, [answer("/", "text/html", html, headers=said)], which)
    assert (made.outcome, told(made)) == ("loaded", [])
    assert [r.status for r in made.requests] == [200]
    assert len(made.served) == (2 if which == "chromium" else 1)
