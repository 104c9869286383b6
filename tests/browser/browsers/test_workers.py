"""Requests of a page's workers are part of its load."""

import pytest

from conftest import Track
from dragstrip.model.visit import Visit
from page_loads import BROWSERS, SITE, answer, load, told

_SCRIPTS = {
    "/dedicated.js": b"importScripts('/part.js'); fetch('/data.json'); new Worker('/nested.js')",
    "/part.js": b"self.part = 1",
    "/nested.js": b"fetch('/nested.json')",
    "/shared.js": b"fetch('/shared.json')",
    "/dies.js": b"fetch('/never.json')",
}
_DATA = ("/data.json", "/nested.json", "/shared.json")
_THINKS_MS = 600


def visited(track: Track, which: str, script: str, done: str = "network-idle") -> Visit:
    html = f"<!doctype html><title>workers</title><p>Here</p><script>{script}</script>"
    answers = [
        answer("/", "text/html", html.encode()),
        answer("/never.json", "application/json", b"{}", think_ms=10_000),
        *(answer(path, "text/javascript", body) for path, body in _SCRIPTS.items()),
        *(answer(path, "application/json", b"{}", think_ms=_THINKS_MS) for path in _DATA),
    ]
    return load(track, answers, which, done=done)


def waited(made: Visit, asked: set[str]) -> None:
    assert (made.outcome, told(made)) == ("loaded", [])
    ends = {r.url.removeprefix(SITE): r.end_ms for r in made.requests}
    assert asked <= ends.keys()
    assert None not in ends.values()
    assert made.plt_ms >= max(ends[path] for path in asked) > _THINKS_MS


@pytest.mark.parametrize("which", BROWSERS)
def test_a_load_waits_for_the_requests_of_workers(track, which):
    asked = {"/dedicated.js", "/part.js", "/data.json", "/nested.js", "/nested.json"}
    waited(visited(track, which, "new Worker('/dedicated.js')"), asked)


def test_a_load_waits_for_the_requests_of_shared_workers(track):
    """Firefox does not report these."""
    made = visited(track, "chromium", "new SharedWorker('/shared.js')")
    waited(made, {"/shared.js", "/shared.json"})


def test_a_load_does_not_wait_for_a_worker_that_has_ended(track):
    script = "const dies = new Worker('/dies.js'); setTimeout(() => dies.terminate(), 300)"
    made = visited(track, "chromium", script)
    assert made.outcome == "loaded"
    assert made.plt_ms < 10_000
