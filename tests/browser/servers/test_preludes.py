"""What scripts find: no service workers, and on request the date of the recording."""

from datetime import UTC, datetime

import msgspec
import pytest
from msgspec import structs

from conftest import CLIENT
from dragstrip.pages.format.archive import write_page
from dragstrip.pages.format.recording import Recorded, Recording

THEN = datetime(2018, 2, 20, 12, tzinfo=UTC)
SCRIPT = """<script>window.found = {
  worker: "serviceWorker" in navigator,
  now: Date.now(), made: new Date().getTime(), called: new Date(Date()).getTime(),
  given: new Date(2020, 1, 2).getFullYear(), parsed: Date.UTC(1970, 0, 2),
  isDate: new Date() instanceof Date, year: new Date().getUTCFullYear(),
  same: new Date().constructor === Date, copy: new Date(new Date(5)).getTime(),
}; const began = Date.now(); while (Date.now() < began + 20);
window.found.ran = Date.now() - began;</script>"""


@pytest.fixture
def found(track):
    """The result of the page's script, given a client."""
    answer = Recorded(
        url="https://www.synth.test/",
        headers=(("content-type", "text/html"),),
        wire=SCRIPT.encode(),
        started=THEN,
    )
    recording = Recording(name="clock", url=answer.url, source="test", answers=(answer,))
    page = write_page(track.folder / "clock.har.zip", recording)
    track.bed.origin.serve(page)

    def look(client):
        browser = track.browser("h2")
        with browser.fresh_tab(client, page) as tab:
            assert tab.load(page.url).outcome == "loaded"
            expression = {"expression": "JSON.stringify(window.found)", "returnByValue": True}
            answer = browser.cdp.call("Runtime.evaluate", tab.session, **expression)
        return msgspec.json.decode(answer["result"]["value"])

    return look


def test_pinned_time_starts_at_the_recording_and_runs_on(found):
    seen = found(structs.replace(CLIENT, pin_time=True))
    then_ms = THEN.timestamp() * 1000
    for clock in ("now", "made"):
        assert 0 <= seen[clock] - then_ms < 20_000
    assert -1000 <= seen["called"] - then_ms < 20_000
    assert (seen["year"], seen["given"], seen["parsed"], seen["copy"]) == (
        2018,
        2020,
        86_400_000,
        5,
    )
    assert seen["isDate"]
    assert seen["same"]
    assert seen["ran"] >= 20


def test_otherwise_it_is_today_and_there_are_never_service_workers(found):
    seen = found(CLIENT)
    assert abs(seen["now"] - datetime.now(UTC).timestamp() * 1000) < 60_000
    assert not seen["worker"]
