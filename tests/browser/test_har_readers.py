"""PerfCascade, a reader of HARs in the browser, draws the HAR of a visit."""

import json
import os
from pathlib import Path

import pytest

from made_har import archive, unanswered
from reader import reader


@pytest.mark.parametrize(
    ("made_up", "rows", "words"),
    [
        (archive, 3, ("onContentLoad (500 ms)", "onLoad (900 ms)", "255 ms")),
        (unanswered, 1, ("a.test/lost",)),
    ],
)
def test_perfcascade_draws_each_request_and_the_load(tmp_path, made_up, rows, words):
    if "PERF_CASCADE" not in os.environ:
        pytest.skip("PERF_CASCADE is not set to dist/perf-cascade.js of npm's perf-cascade")
    script = Path(os.environ["PERF_CASCADE"]).read_text(encoding="utf-8")
    empty = tmp_path / "empty.html"
    empty.write_text("<!doctype html><title>empty</title><body></body>", encoding="utf-8")
    with reader(tmp_path) as browser:
        browser.open(empty)
        browser.ask(f"{script}; 0")
        log = json.dumps(made_up()["log"])
        browser.ask(f"document.body.replaceChildren(window.perfCascade.fromHar({log})); 0")
        assert browser.ask("document.querySelectorAll('.row-item').length") == rows
        drawn = browser.ask("document.querySelector('svg').textContent")
        assert [word for word in words if word not in drawn] == []
        assert browser.errors == []
