"""Real stacks are what they claim to be, in every connection mode; each real lie is caught."""

from dataclasses import replace
from itertools import accumulate
from math import inf

import pytest
from msgspec import structs

from conftest import NETWORK, OTHER_SITE, Track, judged, plan_of, told
from dragstrip.browsers.chromium import stack_flags
from dragstrip.browsers.place import needs_every_root
from dragstrip.model.browsers import CHROMIUM, TODAY
from dragstrip.model.network import Network
from dragstrip.model.page import Page
from dragstrip.model.stack import ConnectionMode, Stack
from dragstrip.model.thresholds import Thresholds
from dragstrip.model.visit import Visit
from dragstrip.pages.format.archive import write_page
from dragstrip.pages.format.recording import Recording
from dragstrip.study.presets import find_stack
from dragstrip.verdict.judge import judge
from page_loads import SITE, answer

FAR = Network.parse("100mbit/100mbit/100ms/0%/200ms")
_TRIES = 5
"""Tries with a round trip that is longer than any delay on a busy machine."""


def make(
    track: Track,
    stack: Stack,
    connection: ConnectionMode = "first",
    *,
    really: Stack | None = None,
    page: Page | None = None,
    network: Network = NETWORK,
) -> Visit:
    """A visit that claims `stack` while origin and kernel follow `really`."""
    page = page or track.page("3x20KB")
    track.bed.origin.serve(page)
    plan = plan_of(page, stack, connection=connection, network=network)
    bed = track.bed
    if really:
        bed = replace(bed, origin=Lying(bed.origin, really), kernel=Lying(bed.kernel, really))
    flags = stack_flags(stack, bed.addresses)
    settings = {"browser": stack.browser, "every_root": needs_every_root(stack)}
    browser = track.browser(stack.protocol, *flags, **settings)
    return judged(bed, browser, plan)[0]


class Lying:
    """Passes everything on, but tunes another stack."""

    def __init__(self, honest: object, really: Stack) -> None:
        self._honest = honest
        self._really = really

    def __getattr__(self, name: str) -> object:
        return getattr(self._honest, name)

    def tune(self, _stack: Stack, *more: float) -> None:
        self._honest.tune(self._really, *more)  # type: ignore[attr-defined]


STATES = [
    *((name, "first") for name in ("h1", "TCP", "TCP+", "TCP+BBR", "QUIC", "QUIC+BBR")),
    *((name, "repeat") for name in ("h1", "TCP+", "QUIC+BBR")),
    *((name, "repeat-cached") for name in ("TCP", "QUIC")),
]


@pytest.mark.parametrize(("name", "connection"), STATES)
def test_each_stack_is_what_it_claims(track, name, connection):
    made = make(track, find_stack(name), connection)
    assert made.outcome == "loaded"
    assert told(made) == []
    assert made.connection == connection
    assert all(c.resumed for c in made.connections[:1]) == (connection != "first")


@pytest.mark.parametrize("name", ["TCP+early", "QUIC"])
def test_early_data_is_served_before_the_handshake_is_through(track, name):
    first, repeat = (make(track, find_stack(name), mode) for mode in ("first", "repeat"))
    assert told(first) == told(repeat) == []
    assert not any(s.early for s in first.served)
    assert repeat.served[0].early


def test_tls_1_2_resumes_too(track):
    stack = find_stack("TCP-TLS1.2")
    assert told(make(track, stack)) == []
    assert told(make(track, stack, "repeat")) == []


def test_quic_is_discovered_by_alt_svc(track):
    stack = find_stack("QUIC-altsvc")
    first, repeat = (make(track, stack, mode) for mode in ("first", "repeat"))
    assert told(first) == told(repeat) == []
    assert first.protocol_share["h2"] > 0
    assert repeat.protocol_share.get("h3", 0) > 0


@pytest.mark.parametrize("connection", ["repeat", "repeat-cached"])
def test_a_returning_browser_still_knows_of_quic(track, connection):
    made = make(track, find_stack("h3-altsvc"), connection, page=track.page("4x10KB", hosts=2))
    assert told(made) == []
    assert made.protocol_share == {"h3": 1.0}
    assert len(made.served) == len(made.requests) == 5


@pytest.mark.parametrize("browser", [TODAY, CHROMIUM])
def test_a_returning_browser_knows_of_quic_at_hosts_of_other_sites(track, browser):
    """The whole Chromium remembers Alt-Svc for each site that a page belongs to."""
    html = f"<!doctype html><title>sites</title><img src='https://{OTHER_SITE}/a.png'>"
    html += "<link rel=icon href='data:,'>"
    image = structs.replace(answer("/", "image/png", b"-"), url=f"https://{OTHER_SITE}/a.png")
    answers = (answer("/", "text/html", html.encode()), image)
    recording = Recording(name="sites", url=f"{SITE}/", source="made", answers=answers)
    page = write_page(track.folder / "sites.har.zip", recording)
    stack = structs.replace(find_stack("h3-altsvc"), browser=browser)
    made = make(track, stack, "repeat", page=page)
    assert told(made) == []
    assert made.protocol_share == {"h3": 1.0}


@pytest.mark.parametrize("name", ["TCP+", "QUIC", "caddy-h3"])
def test_images_below_scripts_are_asked_for_at_once(track, name):
    """Chromium requests six images at a time from a host that it does not know to obey
    priorities."""
    made = make(track, find_stack(name), page=track.page("90x3KB:mix"), network=FAR)
    assert most_awaited(made.requests) > 20


def most_awaited(requests):
    """The most requests that waited for an answer at one time."""
    sent = [(r.send_start_ms, 1) for r in requests]
    answered = [(r.response_start_ms, -1) for r in requests]
    return max(accumulate(change for _, change in sorted(sent + answered)))


LIES = [
    ("TCP", {"congestion": "bbr"}, "first", "congestion control is bbr"),
    ("QUIC", {"congestion": "bbr"}, "first", "congestion control is bbr"),
    ("QUIC+BBR", {"congestion": "cubic"}, "first", "congestion control is cubic"),
    ("TCP+", {"initial_window_packets": 10}, "first", "initial window is 10"),
    ("QUIC", {"initial_window_packets": 10}, "first", "initial window is 10"),
    ("TCP+", {"pacing": False}, "first", "not paced"),
    ("QUIC", {"pacing": False}, "first", "not paced"),
    ("TCP+early", {"early_data": False}, "repeat", "sent none"),
    ("QUIC", {"early_data": False}, "repeat", "sent none"),
    ("TCP", {"resumption": False}, "repeat", "resumed no TLS session"),
]


def test_a_document_larger_than_the_first_flight_begins_a_round_trip_later_in_full_records(track):
    """The document is like google.de's: a TLS record of 16 KB does not fit into ten packets."""
    page = track.page("400x1KB")
    stock = find_stack("h2")
    least_ms = {None: inf, "dynamic": inf, 1369: inf}
    for _ in range(_TRIES):  # a busy machine adds time to some loads
        for record in least_ms:
            made = make(track, structs.replace(stock, tls_record=record), page=page, network=FAR)
            least_ms[record] = min(least_ms[record], made.ttfb_ms)
        later_ms = least_ms[None] - least_ms["dynamic"]
        apart_ms = abs(least_ms["dynamic"] - least_ms[1369])
        if later_ms > 0.6 * FAR.rtt_ms and apart_ms < 0.4 * FAR.rtt_ms:
            return
    pytest.fail(f"first bytes after at least {least_ms} ms")


@pytest.mark.parametrize(
    ("claimed", "really", "said"),
    [
        (None, 4096, "4096 bytes, not 16384"),
        (4096, None, "16384 bytes, not 4096"),
        ("dynamic", None, "16384 bytes, not 1369"),
        ("dynamic", 1369, "do not grow"),
    ],
)
def test_records_of_other_sizes_are_caught(track, claimed, really, said):
    page = track.page("1x400KB")
    stack = structs.replace(find_stack("h2"), tls_record=claimed)
    assert told(make(track, stack, page=page)) == []
    lies = told(make(track, stack, page=page, really=structs.replace(stack, tls_record=really)))
    assert said in " ".join(lies)


@pytest.mark.parametrize("name", ["h1", "h2", "h3"])
@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"compress": "gzip:6"}, "did not come as gzip:6 codes them"),
        ({"compress": "br:5"}, "did not come as br:5 codes them"),
        ({"compress": "zstd:3"}, "did not come as zstd:3 codes them"),
        ({"certificate_bytes": 4000}, "bytes, not 4000"),
        ({"certificate_bytes": 60_000}, "bytes, not 60000"),
    ],
)
def test_codings_and_certificates_are_what_is_claimed(track, name, change, said):
    page = track.page("40x1KB")
    plain = find_stack(name)
    claimed = structs.replace(plain, **change)
    assert told(make(track, claimed, page=page)) == []
    assert said in " ".join(told(make(track, claimed, page=page, really=plain)))
    assert told(make(track, plain, page=page)) == []


@pytest.mark.parametrize("name", ["h1", "h2", "h3"])
@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"key_share": "X25519MLKEM768"}, "keys were exchanged in X25519, not X25519MLKEM768"),
        ({"certificate": "rsa"}, "the server signed with ecdsa, not rsa"),
        ({"certificate": "ml-dsa-44-size"}, "the certificates are ecdsa, not ml-dsa-44-size"),
        ({"chain_length": 4}, "the chain has 2 certificates, not 4"),
        ({"scts": 3, "staple_bytes": 900}, "the OCSP staple has 0 bytes, not 900"),
        (
            {"certificate_bytes": 4000, "certificate_compression": "brotli"},
            "the certificates' compression is none, not brotli",
        ),
    ],
)
def test_handshakes_carry_what_is_claimed(track, name, change, said):
    plain = find_stack(name)
    claimed = structs.replace(plain, **change)
    assert told(make(track, claimed)) == []
    assert said in " ".join(told(make(track, claimed, really=plain)))


def test_a_retry_is_sent_once(track):
    plain = find_stack("h3")
    claimed = structs.replace(plain, retry=True)
    assert told(make(track, claimed)) == told(make(track, claimed, "repeat")) == []
    assert "no Retry" in " ".join(told(make(track, claimed, really=plain)))
    assert "got a Retry" in " ".join(told(make(track, plain, really=claimed)))


@pytest.mark.parametrize(("name", "change", "connection", "said"), LIES)
def test_each_lie_is_caught(track, name, change, connection, said):
    stack = find_stack(name)
    made = make(track, stack, connection, really=structs.replace(stack, **change))
    lies = told(made)
    assert lies
    assert all(lie.startswith("stack-drift") for lie in lies)
    assert said in " ".join(lies)


@pytest.mark.parametrize("name", ["TCP", "QUIC"])
def test_a_repeat_visit_that_claims_to_be_a_first_one_is_warm(track, name):
    stack = find_stack(name)
    repeat = make(track, stack, "repeat")
    claimed = structs.replace(repeat, connection="first", reasons=())
    reasons = judge(claimed, track.page("3x20KB"), NETWORK, stack, Thresholds(steal_share=1))
    assert "warm" in {r.code for r in reasons}
