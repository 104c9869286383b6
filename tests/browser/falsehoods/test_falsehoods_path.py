"""Lies about where answers come from, which way they took, and how their connections began."""

from dataclasses import replace

import pytest
from msgspec import structs
from test_falsehoods import bypass

import made
from conftest import lying
from dragstrip.browsers.chromium import stack_flags
from dragstrip.model.network import Network
from dragstrip.study.presets import find_stack
from dragstrip.verdict.block_checks import against


class Lying:
    """Passes everything on to a real part, except what a test replaces."""

    def __init__(self, part, **lies):
        self._part = part
        vars(self).update(lies)

    def __getattr__(self, name):
        return getattr(self._part, name)


def test_one_host_takes_a_way_past_the_link(track, codes):
    page = track.page("8x2KB", hosts=4)
    *_, last = page.hosts
    with bypass(track.bed, {last}):
        visit = track.visit("h2", page)
    assert visit.outcome == "loaded"
    assert "link-drift" in codes(visit)
    details = [r.detail for r in visit.reasons]
    address = track.bed.addresses[last]
    assert any(f"received from {address}" in d for d in details)
    assert any(f"nothing crossed the link to {address}" in d for d in details)


def test_an_uplink_far_too_fast(track, codes):
    slow = Network.parse("10mbit/1mbit/10ms/0%/200ms")
    visit = track.visit("h2", track.page("3x2KB"), network=slow)
    assert visit.link.up.line_bytes < 60_000
    assert visit.reasons == ()

    def lie(network):
        return structs.replace(network, up=structs.replace(network.up, rate_mbps=171))

    fast = Lying(track.bed.link)
    fast.configure = lambda network, *rest: track.bed.link.configure(lie(network), *rest)  # type: ignore[attr-defined]
    visit = track.visit("h2", track.page("3x2KB"), network=slow, bed=replace(track.bed, link=fast))
    assert codes(visit) == {"link-drift"}
    assert any("up: the line carried" in r.detail for r in visit.reasons)


def test_one_host_answers_from_anothers_address(track, codes):
    page = track.page("8x2KB", hosts=4)
    first, *_, last = page.hosts
    rules = [f"MAP {host} {ip}" for host, ip in track.bed.addresses.items() if host != last]
    rules.append(f"MAP {last} {track.bed.addresses[first]}")
    misled = track.browser("h2", f"--host-resolver-rules={', '.join(rules)}")
    visit = track.visit("h2", page, browser=misled)
    assert codes(visit) == {"stack-drift", "content-mismatch"}  # the origin answers it with 421
    (elsewhere,) = (r for r in visit.reasons if "not their hosts'" in r.detail)
    assert last in elsewhere.detail


def test_the_callers_proxy_does_not_reach_the_browser(track, monkeypatch):
    monkeypatch.setenv("https_proxy", "http://10.64.0.2:3128")
    visit = track.visit("h2", track.page("3x2KB"), browser=track.browser("h2", "--lang=de"))
    assert visit.reasons == ()


def test_a_proxy_reaches_the_browser(track, codes, monkeypatch):
    monkeypatch.setattr("dragstrip.browsers.chromium.NO_PROXIES", ())
    monkeypatch.setenv("https_proxy", "http://10.64.0.2:3128")
    visit = track.visit("h2", track.page("3x2KB"), browser=track.browser("h2", "--lang=en"))
    assert visit.error == "net::ERR_PROXY_CONNECTION_FAILED"
    assert "stack-drift" in codes(visit)
    assert any("https_proxy" in r.detail for r in visit.reasons)


@pytest.mark.parametrize("stack", ["h1", "h2", "h3"])
def test_certificates_are_of_another_authority(track, codes, stack):
    page = track.page("3x2KB")
    visit = track.visit(stack, page)
    assert visit.reasons == ()
    assert visit.issuers == {visit.authority: page.url}
    other = Lying(track.bed.origin, authority="dragstrip CA 000000000")
    visit = track.visit(stack, page, bed=replace(track.bed, origin=other))
    assert codes(visit) == {"stack-drift"}


@pytest.mark.parametrize("connection", ["first", "repeat"])
def test_alt_svc_leads_to_quic_or_is_a_fallback(track, codes, connection):
    page = track.page("40x10KB")
    flags = stack_flags(find_stack("h3-altsvc"), track.bed.addresses)
    asks = {"connection": connection}
    honest = track.visit("h3-altsvc", page, browser=track.browser("h3", *flags), **asks)
    assert honest.reasons == ()
    assert any(c.protocol == "h3" for c in honest.connections)
    without = track.visit("h3-altsvc", page, browser=track.browser("h2"), **asks)
    assert without.outcome == "loaded"
    assert codes(without) == {"fallback"}
    assert "never tried over QUIC" in without.reasons[0].detail


def test_early_data_that_is_refused_shows_beside_other_losses(track, codes):
    """The network loses packets upstream after the request for the document."""
    lossy = Network.parse("10mbit/10mbit/20ms/0%/200ms")
    lossy = structs.replace(lossy, up=structs.replace(lossy.up, loss=0.1))
    refusing = Lying(track.bed)
    refusing.tune = lambda stack, rtt_ms: track.bed.tune(  # type: ignore[attr-defined]
        structs.replace(stack, early_data=False), rtt_ms
    )
    for seed in range(20):
        visit = track.visit(
            "QUIC",
            track.page("20x20KB"),
            network=lossy,
            connection="repeat",
            bed=refusing,
            seed=seed,
        )
        (end,) = visit.link.up.far_ends
        if end.first_drop_us and end.first_drop_us > visit.served[0].t_us:
            break
    assert visit.link.up.dropped_loss
    assert codes(visit) == {"stack-drift"}
    assert "sent none" in visit.reasons[0].detail


def test_a_repeat_visit_finds_connections_open(track, codes):
    keeping = Lying(track.bed.origin, close=lambda: None)
    visit = track.visit(
        "h2",
        track.page("3x2KB"),
        connection="repeat",
        bed=replace(track.bed, origin=keeping),
    )
    track.bed.origin.close()
    assert "stack-drift" in codes(visit)
    assert any("from before the visit" in r.detail for r in visit.reasons)


def test_stacks_of_a_block_lose_different_packets(track):
    """The network loses the same packets for all stacks, but one stack lost others."""
    network = Network.parse("10mbit/10mbit/10ms/5%/200ms")
    page = track.page("20x20KB")
    one, same = (track.visit(name, page, network=network, seed=3) for name in ("h1", "h2"))
    assert "-" in one.link.down.loss_fates
    assert against(made.study(), [one, same]) == {}
    other = structs.replace(track.visit("h3", page, network=network, seed=4), seed=3)
    found = against(made.study(), [one, same, other])
    assert {stack: {r.code for r in said} for stack, said in found.items()} == {
        stack: {"link-drift"} for stack in ("h1", "h2", "h3")
    }


def test_less_loss_than_asked_for_shows_beside_an_honest_visit(track):
    """One visit has too few packets to show a wrong loss by itself."""
    network = Network.parse("10mbit/10mbit/10ms/5%/200ms")
    page = track.page("20x20KB")
    honest = track.visit("h1", page, network=network, seed=3)
    mild = track.visit("h2", page, network=network, seed=3, bed=lying(track.bed, loss=0.03))
    assert "-" in honest.link.down.loss_fates
    assert set(against(made.study(), [honest, mild])) == {"h1", "h2"}
