"""The way up follows the way down: shares of its rates, and grants."""

import pytest

from dragstrip.model.effects import Direction, Grant
from dragstrip.model.errors import InputError
from dragstrip.model.network import Network
from dragstrip.study.networks import read_network

GRANT = {"request_ms": 10, "delay_ms": 8}


def read(tmp_path, **table):
    return read_network("made", table, tmp_path)


def test_the_way_up_has_a_share_of_the_rates_down_also_at_steps(tmp_path):
    network = read(
        tmp_path,
        down={"rate_mbps": 20},
        up={"rate_of_down": 0.25, "delay_ms": 5},
        at=[
            {"t": "1 s", "down": {"rate_mbps": 4}},
            {"t": "2 s", "down": {"delay_ms": 9}},
            {"t": "3 s", "down": {"rate_mbps": 8}, "up": {"delay_ms": 7}},
        ],
    )
    assert network.up.rate_mbps == 5
    assert [phase.up.rate_mbps for phase in network.phases] == [5, 1, 1, 2]
    assert network.phases[-1].up.delay_ms == 7


def test_the_way_up_plays_a_share_of_the_trace_down(tmp_path):
    (tmp_path / "lte.txt").write_text("0 10\n5 0\n8 30\n10 0\n")
    network = read(
        tmp_path, down={"trace": "lte.txt", "trace_offset_ms": 100}, up={"rate_of_down": 0.1}
    )
    assert network.up.trace.steps == ((0, 1), (5, 0), (8, 3), (10, 0))
    assert network.up.trace_offset_ms == 100
    assert "10 % of lte.txt" in network.describe()


@pytest.mark.parametrize(
    ("up", "down", "said"),
    [
        ({"rate_of_down": 0}, {"rate_mbps": 1}, "up.rate_of_down: 0 is not a share"),
        ({"rate_of_down": -1}, {"rate_mbps": 1}, "not a share"),
        ({"rate_of_down": 1.5}, {"rate_mbps": 1}, "not a share"),
        ({"rate_of_down": float("nan")}, {"rate_mbps": 1}, "not a share"),
        ({"rate_of_down": "20%"}, {"rate_mbps": 1}, "not a share"),
        ({"rate_of_down": True}, {"rate_mbps": 1}, "not a share"),
        ({"rate_of_down": 0.2, "rate_mbps": 1}, {"rate_mbps": 1}, "up has rate_mbps too"),
        ({"rate_of_down": 0.2}, {}, "down has no rate to follow"),
        ({}, {"rate_of_down": 0.2}, "unknown key `rate_of_down`"),
    ],
)
def test_a_share_without_sense_is_refused(up, down, said, tmp_path):
    with pytest.raises(InputError, match=said):
        read(tmp_path, up=up, down=down)


def test_a_step_gives_either_a_share_or_a_rate(tmp_path):
    with pytest.raises(InputError, match=r"at\[0\]\.up\.rate_mbps: up follows down"):
        read(
            tmp_path,
            down={"rate_mbps": 20},
            up={"rate_of_down": 0.25},
            at=[{"t": "1 s", "down": {"rate_mbps": 4}, "up": {"rate_mbps": 1}}],
        )


def test_a_grant_is_described_and_bounds_the_delay(tmp_path):
    network = read(tmp_path, down={"rate_mbps": 20}, up={"delay_ms": 5, "grant": GRANT})
    assert "up asks for grants every 10 ms, gets them after 8 ms" in network.describe()
    assert network.up.least_delay_ms == 13
    assert network.up.most_delay_ms == 5 + 10 + 8
    assert network.rtt_ms == 5 + 5 + 8
    held = Direction(grant=Grant(request_ms=5, delay_ms=8, held_ms=40))
    assert held.least_delay_ms == 0
    assert held.most_delay_ms == 16  # asked for with the data before


@pytest.mark.parametrize(
    ("grant", "said"),
    [
        ({"request_ms": 0, "delay_ms": 8}, "request_ms must be above zero"),
        ({"request_ms": -1, "delay_ms": 8}, "request_ms must be above zero"),
        ({"request_ms": float("nan"), "delay_ms": 8}, "request_ms must be above zero"),
        ({"request_ms": 10, "delay_ms": -8}, "delay_ms must lie between 0 and"),
        ({"request_ms": 10, "delay_ms": 1e12}, "delay_ms must lie between 0 and"),
        ({"request_ms": 10}, "`delay_ms` is missing"),
        ({**GRANT, "every": 1}, "unknown key `every`"),
    ],
)
def test_a_grant_without_sense_is_refused(grant, said, tmp_path):
    with pytest.raises(InputError, match=said):
        read(tmp_path, down={}, up={"grant": grant})


def test_only_the_client_asks_for_grants():
    with pytest.raises(ValueError, match=r"down\.grant: only the client asks"):
        Network(name="x", down=Direction(grant=Grant(**GRANT)), up=Direction())
