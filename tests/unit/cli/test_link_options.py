"""The values that `dragstrip link` makes of its options."""

import pytest

from dragstrip.cli.machine.link_options import (
    both,
    changed,
    find_profile,
    parse_exposed,
    parse_ports,
    profiles,
)
from dragstrip.model.errors import InputError
from dragstrip.study.presets import find_network
from dragstrip.testbed.uplink.expose import ExposedPort


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Slow 3G", "devtools-slow-3g"),
        ("fast 3g", "devtools-fast-3g"),
        ("Slow 4G", "devtools-slow-4g"),
        ("Fast 4G", "devtools-fast-4g"),
        ("devtools fast 4g", "devtools-fast-4g"),
        ("lighthouse-slow-4g", "lighthouse-slow-4g"),
        ("Lighthouse: desktop", "lighthouse-desktop"),
        ("WPT Edge", "wpt-edge"),
        ("2G", "wpt-2g"),
    ],
)
def test_a_profile_is_found_as_its_tool_writes_it(text, name):
    assert find_profile(text).name == name


@pytest.mark.parametrize("text", ["3G", "cable", "3gfast", "5G", "LTE", "bare", "", " - "])
def test_a_profile_that_tools_disagree_on_or_lack_names_the_choices(text):
    with pytest.raises(InputError, match=r"choose from .*wpt-"):
        find_profile(text)


def test_every_profile_says_its_source_and_its_round_trip():
    assert len(profiles()) >= 20
    for network in profiles():
        words = network.source.replace("/", " ").split()
        assert f"{network.rtt_ms:g}" in words or network.name.startswith("sitespeed"), network
        assert f"{network.rtt_ms:g} ms" in network.source


def test_ports_are_single_or_ranges():
    assert parse_ports(["443,8000-8100", " 1 "]) == [(443, 443), (8000, 8100), (1, 1)]
    for text in ("", "0", "65536", "9-1", "-1", "1-", "http", "4 43", "²"):
        with pytest.raises(InputError, match="--ports"):
            parse_ports([text])


def test_an_exposed_port_may_differ_on_both_sides():
    assert parse_exposed(["8080", "18080:80"]) == [ExposedPort(8080, 8080), ExposedPort(18080, 80)]
    assert parse_exposed(["443/tcp", "443/udp", "8443:443/udp"]) == [
        ExposedPort(443, 443),
        ExposedPort(443, 443, "udp"),
        ExposedPort(8443, 443, "udp"),
    ]
    with pytest.raises(InputError, match="port 80 twice"):
        parse_exposed(["80", "8080", "80:81/tcp"])
    for text in (
        "",
        "0",
        "65536",
        ":",
        "8080:",
        ":8080",
        "1:2:3",
        "http",
        "80/",
        "80/sctp",
        "/udp",
    ):
        with pytest.raises(InputError, match="--expose"):
            parse_exposed([text])


def test_a_change_leaves_alone_what_it_does_not_name():
    lte = find_network("LTE")
    got = changed(lte, delay={"up": "5ms"}, loss=both("1%"))
    assert (got.down.delay_ms, got.up.delay_ms) == (37, 5)
    assert (got.down.loss, got.up.loss) == (0.01, 0.01)
    assert (got.down.rate_mbps, got.down.queue_ms) == (10.5, 200)
    assert changed(lte) == lte
    assert changed(got, delay=both("5ms")).name == got.name == "LTE, changed"


def test_a_rate_replaces_a_trace(tmp_path):
    (tmp_path / "bus").write_text("1\n2\n3\n")
    bus = find_network(f"trace:{tmp_path / 'bus'}")
    got = changed(bus, rate={"down": "5mbit"})
    assert (got.down.rate_mbps, got.down.trace) == (5.0, None)
    assert got.up.trace is not None
