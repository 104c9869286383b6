"""Real visits, bent at the seam up to each limit and beyond; and further lies of a real testbed."""

import os
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import replace
from itertools import cycle

import pytest
from msgspec import structs

from conftest import CLIENT, NETWORK, lying
from dragstrip.model.thresholds import Thresholds
from dragstrip.pages.format.archive import write_page
from dragstrip.pages.generators.synth import synth
from dragstrip.study.presets import find_stack
from dragstrip.visit import host
from falsehoods import TOLD, Scene


@pytest.fixture(scope="module")
def scenes(track):
    """A believable visit of each protocol."""
    page = track.page("30x10KB")
    found = {}
    for name in ("h1", "h2", "h3"):
        visit = track.visit(name, page, rehearsed=tuple(range(len(page.resources))))
        assert visit.reasons == ()
        assert visit.unchecked == ()
        # The machine's own load does not matter here.
        still = {"steal_share": 0.0, "others_share": 0.0}
        calm = structs.replace(visit.host, **still, browser_wait_ms=0.0, server_wait_ms=0.0)
        found[name] = Scene(
            structs.replace(visit, host=calm), page, NETWORK, find_stack(name), Thresholds()
        )
    return found


@pytest.mark.parametrize(("falsehood", "protocol"), TOLD, ids=str)
def test_a_real_visit_is_believed_up_to_each_limit_and_not_beyond(scenes, falsehood, protocol):
    honest = scenes[protocol]
    assert falsehood.told(honest, False).reasons() == ()
    assert falsehood.told(honest, True).codes() == {falsehood.code}


def test_one_request_of_244_slips_to_h2(track, codes):
    recording = synth("243x1KB")
    *rest, last = recording.answers
    other = last.url.replace(track.page("1x1KB").hosts[0], track.page("4x1KB", hosts=4).hosts[1])
    document = structs.replace(
        rest[0], wire=rest[0].wire.replace(last.url.encode(), other.encode())
    )
    moved = structs.replace(
        recording, answers=(document, *rest[1:], structs.replace(last, url=other))
    )
    page = write_page(track.folder / "one-of-244.har.zip", moved)
    browser = track.browser("h3", f"--origin-to-force-quic-on={page.hosts[0]}:443")
    visit = track.visit("h3", page, browser=browser)
    assert len(visit.requests) == 244
    assert visit.protocol_share["h2"] == 1 / 244
    assert codes(visit) == {"mixed"}
    assert other in visit.reasons[0].detail


@pytest.mark.parametrize(("factor", "said"), [(0.975, True), (0.985, False), (1.025, True)])
def test_the_rate_is_off_by_about_two_percent(track, factor, said):
    # The page is so long that a few late packets on a busy machine do not matter.
    page = track.page("120x20KB")
    visit = track.visit("h2", page, bed=lying(track.bed, rate_mbps=10 * factor))
    assert any("realised rate" in r.detail for r in visit.reasons) == said


@pytest.mark.parametrize(("delay_ms", "said"), [(10.6, False), (11.6, True)])
def test_the_delay_is_off_by_about_a_millisecond(track, codes, delay_ms, said):
    visit = track.visit("h2", track.page("3x2KB"), bed=lying(track.bed, delay_ms=delay_ms))
    assert codes(visit) == ({"link-drift"} if said else set())


def test_a_load_that_is_stopped_from_outside_is_aborted(track, codes):
    browser = track.browser("h2")
    meddled = replace(browser, cdp=Stopping(browser.cdp, after=6))
    impatient = structs.replace(CLIENT, timeout_s=4)
    visit = track.visit("h2", track.page("60x20KB"), browser=meddled, client=impatient)
    assert visit.outcome == "timeout"
    assert codes(visit) == {"aborted"}


def test_the_clock_is_set_during_a_visit(track, codes, monkeypatch):
    really = host.clock_ahead_ms
    told = cycle((0.0, 50.0))
    monkeypatch.setattr(host, "clock_ahead_ms", lambda: really() + next(told))
    visit = track.visit("h2", track.page("3x2KB"))
    assert codes(visit) == {"clock-jump"}
    assert "set by +50.0" in visit.reasons[0].detail


def test_a_warm_cache_is_not_cold(track):
    recording = synth("3x2KB:script")
    kept = tuple(
        structs.replace(a, headers=(*a.headers[:-1], ("cache-control", "max-age=9999")))
        for a in recording.answers
    )
    page = write_page(track.folder / "kept.har.zip", structs.replace(recording, answers=kept))
    visit = track.visit("h2", page, connection="repeat-cached")
    assert visit.reasons == ()
    claimed = Scene(visit, page, NETWORK, find_stack("h2")).but(connection="first")
    assert any("cache" in r.detail for r in claimed.reasons() if r.code == "warm")


def test_a_browser_that_shares_its_core_is_overloaded(track, codes):
    track.browser("h2")
    with one_core(track.bed.spaces):
        visit = track.visit("h2", track.page("20x10KB"), limits=Thresholds(), patient=False)
    # Which limit catches it depends on the number of cores and on their other work.
    assert "overloaded" in codes(visit)


class Stopping:
    """A browser's pipe on which another process stops every page after some answers."""

    def __init__(self, cdp, after):
        self._cdp = cdp
        self._after = self._left = after

    def __getattr__(self, name):
        return getattr(self._cdp, name)

    def send(self, method, *rest, **params):
        if method == "Page.navigate":
            self._left = self._after
        return self._cdp.send(method, *rest, **params)

    def pump(self, deadline):
        more = self._cdp.pump(deadline)
        for event in self._cdp.events:
            if self._left and event.method == "Network.responseReceived":
                self._left -= 1
                if not self._left:
                    self._cdp.send("Page.stopLoading", event.session)
        return more


@contextmanager
def one_core(spaces):
    """Puts the browser on one core, together with a process of higher priority that never rests."""
    core = min(os.sched_getaffinity(0))
    pin = "for p in $(ip netns pids client); do taskset -a -p -c {} $p > /dev/null; done"
    burn = ["nice", "-n", "-10", "taskset", "-c", str(core), sys.executable, "-c"]
    with subprocess.Popen([*burn, "while True: pass"]) as burner:
        try:
            spaces.run("client", "sh", "-c", pin.format(core))
            yield
        finally:
            burner.kill()
            every = ",".join(map(str, sorted(os.sched_getaffinity(0))))
            spaces.run("client", "sh", "-c", pin.format(every))
