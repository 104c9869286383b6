"""What a real browser's main thread does is recorded, on the page's clock."""

import pytest
from msgspec import structs

from conftest import CLIENT
from dragstrip.browsers.chromium import chromium
from dragstrip.pages.format.archive import write_page
from dragstrip.pages.format.recording import Recorded, Recording

BUSY = b"""<!doctype html><title>busy</title><link rel="icon" href="data:,"><body>Busy<script>
const began = performance.now();
while (performance.now() < began + 120);
performance.busy = [began, performance.now()];
</script>"""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    headers = (("content-type", "text/html"),)
    answer = Recorded(url="https://busy.test/", headers=headers, wire=BUSY)
    recording = Recording(name="busy", url=answer.url, source="made", answers=[answer])
    return write_page(tmp_path_factory.mktemp("busy") / "busy.har.zip", recording)


def loaded(bed, page, client, *, times=1):
    """Each load in the same tab, and when its script was busy, in ms."""
    with chromium(bed, "h2", client) as browser, browser.fresh_tab(client) as tab:
        for _ in range(times):
            load = tab.load(page.url)
            answer = browser.cdp.call(
                "Runtime.evaluate", tab.session, expression="performance.busy", returnByValue=True
            )
            yield load, answer["result"]["value"]


def test_a_busy_script_is_in_the_record_when_it_ran(bed, page):
    client = structs.replace(CLIENT, main_thread=True)
    for load, (began_ms, ended_ms) in loaded(bed, page, client, times=2):
        assert load.outcome == "loaded"
        ran = [
            task
            for task in load.tasks
            if task.name == "EvaluateScript"
            and task.start_ms < began_ms + 1
            and ended_ms - 1 < task.end_ms
        ]
        assert len(ran) == 1
        assert ran[0].end_ms - ran[0].start_ms >= 120
        assert {"ParseHTML", "Layout", "Paint"} <= {task.name for task in load.tasks}
        assert any(task.frame for task in load.tasks)
        assert [t.start_ms for t in load.tasks] == sorted(t.start_ms for t in load.tasks)


def test_nothing_is_recorded_unless_the_client_asks_for_it(bed, page):
    ((load, _),) = loaded(bed, page, CLIENT)
    assert load.outcome == "loaded"
    assert load.tasks == ()
