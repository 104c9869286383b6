"""Stacks of other years: what they claim and refuse, and how a reader learns of their browser."""

import pytest
from msgspec import structs

from dragstrip.browsers.chromium import stack_flags
from dragstrip.browsers.generations import GENERATIONS
from dragstrip.model.browsers import TODAY
from dragstrip.model.stack import differences
from dragstrip.report.data.beside import browsers, surroundings
from dragstrip.study.gaps import Gap, gaps, servers
from dragstrip.study.presets import find_stack, stacks

GQUIC = find_stack("gQUIC")
HOSTS = {"a.test": "10.0.0.1", "b.test": "10.0.0.2"}


def test_every_stack_runs_in_a_browser_that_can_be_driven():
    for stack in stacks().values():
        assert stack.protocol in stack.loaded_by.speaks
        if driven := GENERATIONS.get(stack.browser):
            assert stack.protocol in driven.protocols


def test_stacks_of_todays_browser_keep_their_fingerprints():
    """Capsules made before stacks named their browser are continued and compared by these. QUIC
    changed when it got QPACK's dynamic table."""
    found = {name: find_stack(name).fingerprint for name in ("h2", "TCP+", "QUIC", "caddy-h3")}
    assert found == {
        "h2": "561fd00c59bd",
        "TCP+": "80f69cbd4eaa",
        "QUIC": "239de1376b07",
        "caddy-h3": "17a55e0b122a",
    }


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"congestion": "bbr"}, "server gquic-origin has congestion = 'cubic' and no other"),
        ({"early_data": False}, "server gquic-origin has early_data = True and no other"),
        ({"browser": TODAY}, "does not speak gquic"),
        ({"protocol": "h3"}, "chromium70 does not speak h3"),
        ({"buffer_bytes": 1}, "buffer_bytes does not exist for gquic"),
    ],
)
def test_what_the_server_or_browser_cannot_do_is_refused(change, complaint):
    with pytest.raises(ValueError, match=complaint):
        structs.replace(GQUIC, **change)


def test_the_tuning_of_gquic_and_its_tcp_is_alike():
    said = {what for what, *_ in differences(GQUIC, find_stack("h2-chromium70"))}
    assert said.isdisjoint({"congestion control", "initial window", "pacing", "browser"})
    assert {"TLS", "server", "priorities"} <= said


def test_gquic_is_forced_for_every_host_and_led_to_its_server():
    forced, led = stack_flags(GQUIC, HOSTS)
    assert forced == "--origin-to-force-quic-on=a.test:443,b.test:443"
    assert "MAP a.test 10.0.0.1:8444" in led
    assert "MAP * ~NOTFOUND" in led


def test_a_reader_learns_which_browser_and_switch_a_figure_has():
    assert browsers([find_stack("h2"), find_stack("h3")]) == ""
    assert browsers([find_stack("h3"), GQUIC, find_stack("h2-chromium70")]) == (
        "Browsers: h3: today's Chromium; gQUIC, h2-chromium70: Chromium 70 of August 2018, with "
        "gQUIC forced for every host, in version Q043 and no other."
    )


SPDY, NETTY = find_stack("SPDY"), find_stack("SPDY-netty")
ORIGIN = find_stack("h2-chromium53-origin")
GAP = Gap(
    server="node-spdy",
    against="dragstrip-origin",
    browser="chromium53",
    protocol="h2",
    load="a page over LTE",
    ratio=1.25,
    low=1.2,
    high=1.3,
    blocks=15,
    measured="2026-01-31",
)
MEASURED = "(1.200 to 1.300) times as long as dragstrip-origin (h2 in Chromium 53 of August 2016, "


def test_what_cannot_be_matched_between_two_servers_is_named():
    said = [what for what, *_ in differences(SPDY, NETTY)]
    assert said == ["server", "server's TLS", "order of streams"]
    of_streams = ["turns of equal answers", "flow control", "requests at once", "Early Hints"]
    of_streams.append("WebSockets")
    assert [what for what, *_ in differences(NETTY, find_stack("h1-chromium53-netty"))] == [
        "protocol",
        *of_streams,
    ]


def test_one_server_needs_no_word():
    assert servers([SPDY, find_stack("h2-chromium53")], [GAP]) == ""


def test_the_gap_of_servers_stands_beside_a_figure():
    assert servers([ORIGIN, SPDY], [GAP]) == (
        "Servers: h2-chromium53-origin: dragstrip-origin; SPDY: node-spdy. Over one protocol, "
        f"node-spdy takes 1.250 {MEASURED}a page over LTE, 15 blocks, 2026-01-31)."
    )


def test_a_gap_is_told_from_either_side():
    said = servers([SPDY, ORIGIN], [GAP])
    assert "dragstrip-origin takes 0.800 (0.769 to 0.833) times as long as node-spdy" in said


def test_of_several_gaps_the_one_in_the_browser_of_the_figure_is_told():
    elsewhere = structs.replace(GAP, browser="chromium78", ratio=9.0)
    assert "takes 1.250" in servers([ORIGIN, SPDY], [elsewhere, GAP])
    assert "takes 9.000" in servers([ORIGIN, SPDY], [elsewhere])


def test_two_servers_without_a_common_browser_are_compared_by_a_third():
    go = structs.replace(GAP, server="gquic-origin", browser="chromium70", ratio=1.1)
    said = servers([SPDY, GQUIC], [GAP, go])
    assert "gquic-origin takes 1.100" in said
    assert " and node-spdy takes 1.250" in said
    assert "not measured" not in said


def test_what_is_not_measured_says_so():
    said = servers([SPDY, NETTY, GQUIC], [GAP])
    assert "the gap between netty and node-spdy is not measured" in said
    assert "the gap between gquic-origin and node-spdy is not measured" in said
    assert "SPDY-netty: netty" in surroundings([SPDY, NETTY])[1]


def test_gaps_are_between_two_servers_and_each_is_named_once():
    pairs = [(g.browser, g.protocol, frozenset((g.server, g.against))) for g in gaps()]
    assert len(pairs) == len(set(pairs))
    assert all(len(pair) == 2 for *_, pair in pairs)
