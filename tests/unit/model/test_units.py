import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragstrip.model.network import Network
from dragstrip.model.units import (
    UnitError,
    parse_duration_ms,
    parse_rate_mbps,
    parse_share,
    parse_size_bytes,
)


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (parse_rate_mbps, "10.5mbit", 10.5),
        (parse_rate_mbps, "468 kbit", 0.468),
        (parse_rate_mbps, "1Gbps", 1000.0),
        (parse_rate_mbps, "unlimited", None),
        (parse_duration_ms, "37ms", 37.0),
        (parse_duration_ms, "0.2s", 200.0),
        (parse_share, "1.7%", 0.017),
        (parse_share, "0.5", 0.5),
        (parse_size_bytes, "10KB", 10_000),
        (parse_size_bytes, "10KiB", 10_240),
        (parse_size_bytes, "100", 100),
    ],
)
def test_quantities_are_read_as_people_write_them(parse, text, value):
    assert parse(text) == pytest.approx(value)


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (parse_rate_mbps, "10"),
        (parse_rate_mbps, "0mbit"),
        (parse_rate_mbps, "-1mbit"),
        (parse_duration_ms, "37"),
        (parse_duration_ms, "ms"),
        (parse_share, "101%"),
        (parse_share, "1.7ms"),
        (parse_size_bytes, "10XB"),
    ],
)
def test_what_cannot_be_read_is_quoted_in_the_error(parse, text):
    with pytest.raises(UnitError, match=repr(text)[1:-1]):
        parse(text)


@given(st.text())
def test_any_text_is_read_or_refused_with_one_kind_of_error(text):
    for parse in (parse_rate_mbps, parse_duration_ms, parse_share, parse_size_bytes):
        try:
            value = parse(text)
        except UnitError:
            value = None
        assert value is None or value >= 0


def test_a_network_on_the_command_line_says_its_round_trip_and_two_way_loss():
    network = Network.parse("10.5mbit/2.8mbit/37ms/1%/200ms")
    assert network.rtt_ms == 74
    assert network.two_way_loss == pytest.approx(0.0199)
    assert "round trip 74 ms" in network.describe()
    assert "two-way 1.99 %" in network.describe()


def test_a_network_may_be_unlimited_and_unbounded():
    network = Network.parse("unlimited/unlimited/0ms/0%/unbounded")
    assert network.down.rate_mbps is None
    assert network.down.queue_ms is None
