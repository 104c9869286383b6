"""Every lie a testbed can tell must be named by the verdict. Each test tells one."""

import zipfile
from pathlib import Path

import msgspec
import pytest

from conftest import NETWORK, lying
from dragstrip.model.network import Network
from dragstrip.pages.format.archive import load_page


def test_h3_asked_but_quic_not_forced(track, codes):
    page = track.page("3x2KB")
    visit = track.visit("h3", page, browser=track.browser("h2"))
    assert visit.outcome == "loaded"
    assert codes(visit) == {"fallback"}


def test_one_request_slips_to_h2(track, codes):
    page = track.page("8x2KB", hosts=4)
    *forced, slipping = page.hosts
    only = ",".join(f"{host}:443" for host in forced)
    browser = track.browser("h3", f"--origin-to-force-quic-on={only}")
    visit = track.visit("h3", page, browser=browser)
    assert codes(visit) == {"mixed"}
    assert any(slipping in r.detail for r in visit.reasons)


def test_the_link_left_out_of_the_path(track, codes):
    page = track.page("3x2KB")
    with bypass(track.bed):
        visit = track.visit("h2", page)
    assert visit.outcome == "loaded"
    assert codes(visit) >= {"impossible", "link-drift"}


def test_udp_dropped(track, codes):
    page = track.page("3x2KB")
    spaces = track.bed.spaces
    # The table of local addresses is asked first; put a rule before it.
    spaces.configure(
        "origin",
        [
            "rule add pref 10 lookup local",
            "rule del pref 0",
            "rule add pref 5 ipproto udp dport 443 blackhole",
        ],
    )
    try:
        visit = track.visit("h3", page)
    finally:
        spaces.configure(
            "origin", ["rule del pref 5", "rule add pref 0 lookup local", "rule del pref 10"]
        )
    assert visit.outcome == "failed"
    assert codes(visit) == {"link-drift"}


def test_one_recorded_object_is_missing(track, codes, tmp_path):
    page = track.page("40x1KB")
    lost = page.resources[7].url
    track.bed.origin.serve(load_page(without(page.path, lost, tmp_path / "lost.har.zip")))
    visit = track.visit("h2", page, serve=False)
    assert codes(visit) == {"replay-miss"}
    assert lost in visit.reasons[0].detail


def test_loss_switched_off_while_five_percent_are_claimed(track, codes):
    claimed = Network.parse("10mbit/10mbit/10ms/5%/200ms")
    bed = lying(track.bed, loss=0.0)
    visit = track.visit("h2", track.page("60x20KB"), network=claimed, bed=bed)
    assert codes(visit) == {"link-drift"}
    assert "lost at random" in visit.reasons[0].detail


@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_the_rate_is_wrong_by_ten_percent(track, codes, factor):
    bed = lying(track.bed, rate_mbps=10 * factor)
    visit = track.visit("h2", track.page("20x20KB"), bed=bed)
    assert "link-drift" in codes(visit)
    assert any("realised rate" in r.detail for r in visit.reasons)


def test_the_delay_is_wrong(track, codes):
    bed = lying(track.bed, delay_ms=12.0)
    visit = track.visit("h3", track.page("3x2KB"), bed=bed)
    assert codes(visit) == {"link-drift"}


@pytest.mark.parametrize("stack", ["h1", "h2", "h3"])
def test_without_a_lie_the_verdict_is_valid(track, stack):
    visit = track.visit(stack, track.page("20x20KB", hosts=4), network=NETWORK)
    assert visit.reasons == ()


def bypass(bed, hosts=None):
    """A second wire from client to origin, past the link, for the addresses of these hosts; by
    default for all."""
    return _Bypass(bed, hosts)


class _Bypass:
    def __init__(self, bed, hosts):
        self._bed = bed
        self._addresses = [ip for host, ip in bed.addresses.items() if not hosts or host in hosts]

    def __enter__(self):
        spaces, hosts = self._bed.spaces, self._addresses
        spaces.configure(
            "client",
            [
                "link add wire type veth peer name wire netns origin",
                "link set wire up",
                "addr add 10.65.0.1/30 dev wire",
            ],
        )
        spaces.configure("origin", ["link set wire up", "addr add 10.65.0.2/30 dev wire"])
        routes = [f"route add {ip}/32 via 10.65.0.2 src 10.65.0.1" for ip in hosts]
        spaces.configure("client", routes)

    def __exit__(self, *_):
        self._bed.spaces.configure("client", ["link del wire"])


def without(source: Path, url: str, out: Path) -> Path:
    """A copy of a page file that lacks one entry."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(out, "w") as new:
        for member in old.infolist():
            data = old.read(member)
            if member.filename == "har.har":
                har = msgspec.json.decode(data)
                entries = har["log"]["entries"]
                har["log"]["entries"] = [e for e in entries if e["request"]["url"] != url]
                assert len(har["log"]["entries"]) == len(entries) - 1
                data = msgspec.json.encode(har)
            new.writestr(member.filename, data)
    return out
