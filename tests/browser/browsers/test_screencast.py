"""Frames of a real browser: painted boxes are seen in order, in size, and on the page's clock."""

import io
import json

import pytest
from msgspec import structs
from PIL import Image, ImageOps

from conftest import CLIENT, judged, plan_of
from dragstrip.browsers.chromium import chromium
from dragstrip.pages.format.archive import write_page
from dragstrip.pages.format.recording import Recorded, Recording
from dragstrip.pages.generators.painted import BOXES, painted
from dragstrip.study.presets import find_stack
from dragstrip.visit.frames import visual

READ = "JSON.stringify([performance.timeOrigin, ...performance.painted])"


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return write_page(tmp_path_factory.mktemp("painted") / "painted.har.zip", painted())


@pytest.mark.parametrize("protocol", ["h1", "h2", "h3"])
def test_painted_boxes_are_seen_as_they_were_painted(bed, page, protocol):
    client = structs.replace(CLIENT, frames=True)
    with chromium(bed, protocol, client) as browser, browser.fresh_tab(client) as tab:
        loaded = tab.load(page.url)
        answer = browser.cdp.call(
            "Runtime.evaluate", tab.session, expression="performance.painted", returnByValue=True
        )
    seen = visual(loaded.frames)
    painted_ms = answer["result"]["value"]
    assert loaded.outcome == "loaded"
    assert seen
    # Two boxes may share a frame on a busy machine; the sizes tell which were seen together.
    sums = [sum(b.width_percent for b in BOXES[: i + 1]) for i in range(len(BOXES))]
    for time_ms, complete in seen.progress:
        index = min(range(len(sums)), key=lambda i: abs(sums[i] - complete * 100))
        assert complete * 100 == pytest.approx(sums[index], abs=1)
        assert time_ms > painted_ms[index] - 10  # never before it was painted
    assert seen.progress[-1][1] == 1.0


LATE = b"""<!doctype html><title>late</title><link rel="icon" href="data:,"><body><script>
addEventListener("load", () => setTimeout(() => {
  for (const until = performance.now() + 400; performance.now() < until;);
  document.body.style.background = "teal";
}));
</script>"""


def test_what_a_busy_page_draws_late_is_waited_for(bed, tmp_path):
    headers = (("content-type", "text/html"),)
    answer = Recorded(url="https://painted.test/", headers=headers, wire=LATE)
    late = Recording(name="late", url=answer.url, source="made", answers=[answer])
    client = structs.replace(CLIENT, frames=True)
    bed.origin.serve(write_page(tmp_path / "late.har.zip", late))
    with chromium(bed, "h2", client) as browser, browser.fresh_tab(client) as tab:
        loaded = tab.load(answer.url)
    seen = visual(loaded.frames)
    assert seen
    assert seen.fvc_ms is not None
    assert seen.fvc_ms > loaded.navigation.loadEventEnd + client.quiet_ms


def test_no_frames_unless_asked_for(bed, page):
    bed.origin.serve(page)
    with chromium(bed, "h2", CLIENT) as browser, browser.fresh_tab(CLIENT) as tab:
        assert tab.load(page.url).frames == ()


def test_the_net_log_is_whole_and_on_the_same_clock(bed, page, tmp_path):
    kept = tmp_path / "netlog" / "h3.json"
    with (
        chromium(bed, "h3", CLIENT, net_log=kept) as browser,
        browser.fresh_tab(CLIENT) as tab,
    ):
        loaded = tab.load(page.url)
    log = json.loads(kept.read_bytes())
    sessions = log["constants"]["logEventTypes"]["QUIC_SESSION"]
    begun = [e for e in log["events"] if e["type"] == sessions and e["phase"] == 1]
    begun_s = (int(begun[0]["time"]) + log["constants"]["timeTickOffset"]) / 1000
    assert loaded.time_origin_s - 1 < begun_s < loaded.time_origin_s + 60


def test_a_visit_that_ends_with_another_picture_is_a_mismatch(bed, page):
    bed.origin.serve(page)
    client = structs.replace(CLIENT, frames=True)
    plan = plan_of(page, find_stack("h2"), client=client)
    with chromium(bed, "h2", client) as browser:
        first, _ = judged(bed, browser, plan)
        assert first.visual
        again, _ = judged(bed, browser, plan, reference=first.visual.final)
        mirrored = io.BytesIO()
        with Image.open(io.BytesIO(first.visual.final)) as picture:
            ImageOps.mirror(picture).save(mirrored, "PNG")
        lied_to, _ = judged(bed, browser, plan, reference=mirrored.getvalue())
    assert "picture-mismatch" not in again.verdict
    assert "picture-mismatch" in lied_to.verdict
