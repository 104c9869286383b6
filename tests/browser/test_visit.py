"""The results of a visit: protocol, cold connections, times, and a HAR that others can read."""

import json

import pytest
from msgspec import structs

from conftest import CLIENT, NETWORK
from dragstrip.model.network import Network
from dragstrip.pages.format.archive import write_page
from dragstrip.pages.format.recording import Recorded
from dragstrip.pages.importers.prepare import prepare
from dragstrip.visit.har import har


@pytest.mark.parametrize("stack", ["h1", "h2", "h3"])
def test_browser_and_origin_agree_on_every_request(track, stack):
    page = track.page("12x3KB", hosts=4)
    visit = track.visit(stack, page)
    assert visit.outcome == "loaded"
    assert visit.protocol_share == {stack: 1.0}
    assert {s.protocol for s in visit.served} == {stack}
    assert {s.url for s in visit.served} == {r.url for r in page.resources}
    assert {r.url for r in visit.requests} == {s.url for s in visit.served}
    homes = {track.bed.addresses[host] for host in page.hosts}
    assert {r.remote_ip for r in visit.requests} == homes
    assert not any(s.resumed or s.early for s in visit.served if s.connection == 1)


def test_times_are_in_order_and_end_with_the_load_event(track):
    visit = track.visit("h2", track.page("12x3KB", hosts=4))
    for request in visit.requests:
        assert request.send_start_ms is not None
        assert request.response_start_ms is not None
        assert request.end_ms is not None
        assert 0 <= request.start_ms <= request.send_start_ms
        assert request.send_start_ms <= request.response_start_ms <= request.end_ms
    assert visit.plt_ms is not None
    assert visit.plt_ms >= max(r.end_ms for r in visit.requests if r.resource_type == "Image") - 1


@pytest.mark.parametrize("stack", ["h1", "h2", "h3"])
def test_a_second_visit_is_as_cold_as_the_first(track, stack):
    page = track.page("4x2KB")
    for _ in range(2):
        visit = track.visit(stack, page)
        assert visit.reasons == ()
        first = min(visit.connections, key=lambda c: c.t_us)
        assert not first.resumed


@pytest.mark.parametrize("stack", ["h2", "h3"])
def test_total_loss_is_an_outcome_and_a_valid_one(track, stack):
    dead = Network.parse("10mbit/10mbit/10ms/100%/200ms")
    impatient = structs.replace(CLIENT, timeout_s=4)
    visit = track.visit(stack, track.page("4x2KB"), network=dead, client=impatient)
    assert visit.outcome in ("failed", "timeout")
    assert visit.plt_ms is None
    assert visit.reasons == ()


def test_the_har_names_protocol_timings_and_sizes_of_every_request(track):
    page = track.page("12x3KB", hosts=4)
    track.bed.origin.serve(page)
    browser = track.browser("h3")
    with browser.fresh_tab(CLIENT) as tab:
        track.bed.link.configure(NETWORK, 1)
        loaded = tab.load(page.url)
        track.bed.link.passthrough()
    visit = track.visit("h3", page)
    archive = json.loads(json.dumps(har(visit, loaded, page.url, "Chromium 156")))
    entries = archive["log"]["entries"]
    assert {e["request"]["url"] for e in entries} == {r.url for r in page.resources}
    for entry in entries:
        assert entry["response"]["httpVersion"] == "HTTP/3"
        assert entry["response"]["_transferSize"] > 0
        phases = {k: v for k, v in entry["timings"].items() if k != "ssl" and v >= 0}
        assert entry["time"] == pytest.approx(sum(phases.values()))
        assert any(h["name"].lower() == "user-agent" for h in entry["request"]["headers"])


@pytest.mark.parametrize("stack", ["h1", "h3"])
def test_http_that_is_kept_comes_by_http_1_1_without_tls(track, stack):
    host = track.page("1x1KB").hosts[0]
    kept = prepare(
        "kept",
        "a test",
        [
            Recorded(
                url=f"http://{host}/",
                status=200,
                headers=(("content-type", "text/html"),),
                wire=b"<!doctype html><img src=/x.svg>",
            ),
            Recorded(
                url=f"http://{host}/x.svg",
                status=200,
                headers=(("content-type", "image/svg+xml"),),
                wire=b'<svg xmlns="http://www.w3.org/2000/svg"/>',
            ),
        ],
        keep_http=True,
    )
    made = track.visit(stack, write_page(track.folder / "kept.har.zip", kept))
    assert made.valid, made.reasons
    assert [r.protocol for r in made.requests] == ["h1", "h1"]
    assert {(s.protocol, s.url) for s in made.served} == {
        ("h1", f"http://{host}/"),
        ("h1", f"http://{host}/x.svg"),
    }
    assert not any(c.secure for c in made.connections)
