"""`page check` finds a page whose loads would never count, before a race."""

import pytest

from dragstrip.model.study import Client
from dragstrip.pages.format.archive import write_page
from dragstrip.pages.format.recording import Recording
from dragstrip.verdict.page_check import CHECKED_PROTOCOLS, check
from page_loads import SITE, answer

_STRANGE = b"""<script>for (let i = 0; i < 9; i++) fetch("/" + crypto.randomUUID())</script>"""
_MOVES = b"<script>location = '/last'</script>"


@pytest.mark.parametrize(
    ("html", "refusal", "documents"), [(_STRANGE, "replay-miss", 1), (_MOVES, "", 2)]
)
def test_each_protocol_says_what_a_race_would_refuse(tmp_path, html, refusal, documents):
    answers = (
        answer("/", "text/html", b"<!doctype html><title>x</title>" + html),
        answer("/last", "text/html", b"<!doctype html><title>y</title>"),
    )
    recording = Recording(name="x", url=f"{SITE}/", source="made", answers=answers)
    page = write_page(tmp_path / "x.har.zip", recording)
    checks = list(check(page, Client(timeout_s=10)))
    assert [c.protocol for c in checks] == list(CHECKED_PROTOCOLS)
    for one in checks:
        assert [r.partition(":")[0] for r in one.refusals] == ([refusal] if refusal else [])
        assert len(one.documents) == documents


def test_it_visits_in_firefox(tmp_path):
    answers = (answer("/", "text/html", b"<!doctype html><title>x</title>" + _STRANGE),)
    recording = Recording(name="x", url=f"{SITE}/", source="made", answers=answers)
    page = write_page(tmp_path / "x.har.zip", recording)
    for one in check(page, Client(timeout_s=20), browser="firefox"):
        assert [r.partition(":")[0] for r in one.refusals] == ["replay-miss"]
        assert one.outcome == "loaded"
        assert not one.screenshot
