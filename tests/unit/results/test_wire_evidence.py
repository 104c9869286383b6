"""Evidence of both sides and the causes that it points to: each is named if and only if it is
true."""

import polars as pl
import pytest

import made
from dragstrip.model.network import Network
from dragstrip.model.stack import Stack
from dragstrip.report.words.numbers import DASH
from dragstrip.report.words.wire_evidence import pointers, rows
from dragstrip.results.compare.wire_evidence import SIGNS, Evidence, evidence
from dragstrip.results.observed import Observed
from dragstrip.study.presets import find_stack

PATH = Network.parse("100mbit/100mbit/50ms/0%/200ms")  # carries 1.25 MB in a round trip
H2 = made.STACKS["h2"]
H3 = find_stack("nginx-h3")
QUIET = {"plt_ms": 2000.0, "wait_ms": 2.0, "down_lost": 0.0, "down_flight_bytes": 1_200_000.0}
IN_THE_SERVER = "median time in the server, from the request complete to the answer ready"
WINDOWED = QUIET | {"down_flight_bytes": 64_000.0, "down_flights": 17.0}


def seen(a: dict[str, float], b: dict[str, float], *, b_stack: Stack = H3) -> Evidence:
    def visits(values: dict[str, float]) -> pl.DataFrame:
        names = ("plt_ms", *SIGNS)
        return pl.DataFrame(
            {name: [values.get(name)] * 3 for name in names},
            schema=dict.fromkeys(names, pl.Float64),
        )

    cell = Observed(
        page="p",
        network="n",
        connection="first",
        visits=visits(a),
        limit_ms=60_000,
        stacks={H2.name: visits(a), b_stack.name: visits(b)},
    )
    return evidence(cell, PATH, H2, b_stack)


def causes(found: Evidence) -> list[tuple[str, str]]:
    return [(one.stack, one.cause) for one in found.pointers]


def test_a_window_is_found_where_round_trips_stop_growing_below_what_the_link_carries():
    found = seen(QUIET, WINDOWED)
    assert causes(found) == [("nginx-h3", "window")]
    (said,) = pointers(found)
    assert (
        "17 round trips carried 64 kB down and no more, although the link carries 1.25 MB" in said
    )
    assert "dropped nothing. This points to flow control or to the server's buffer" in said


@pytest.mark.parametrize(
    "changes",
    [
        {"down_flights": 2.0},  # a slow start that ended with the page
        {"down_flight_bytes": 1_100_000.0},  # a full link
        {"down_flights": 5.0},  # a quarter of the load
        {"down_flight_bytes": None, "down_flights": None},  # no body took a round trip
    ],
)
def test_no_window_is_found_where_there_is_none(changes):
    assert causes(seen(QUIET, WINDOWED | changes)) == []


@pytest.mark.parametrize(
    ("window", "points"),
    [(70_000.0, "congestion control."), (500_000.0, "a stream or connection."), (None, "report.")],
)
def test_a_sender_that_tells_its_congestion_window_is_believed(window, points):
    (said,) = pointers(seen(QUIET, WINDOWED | {"window_bytes": window}))
    assert said.endswith(points)


def test_losses_are_named_beside_a_window():
    window, losses = pointers(seen(QUIET, WINDOWED | {"down_lost": 9.0}))
    assert "The link dropped 9 packets." in window
    assert "the link dropped 9 packets more" in losses


@pytest.mark.parametrize(("size", "ours"), [(900_000.0, True), (500_000.0, False)])
def test_an_upload_stops_at_the_window_that_the_server_grants(size, ours):
    small = Stack(name="small", protocol="h2", flow_window_bytes=2**20)
    up = {"up_flight_bytes": size, "up_flights": 9.0, "plt_ms": 2000.0}
    (said,) = pointers(seen(QUIET, up, b_stack=small))
    assert ("window that the server grants (1.05 MB)" in said) == ours
    assert ("client's congestion control" in said) == (not ours)


@pytest.mark.parametrize(
    ("b", "cause"),
    [
        ({"down_lost": 3.0}, "losses"),
        ({"declared_lost": 3.0}, "spurious"),
        ({"wait_ms": 102.0}, "server"),
    ],
)
def test_what_is_larger_on_one_side_points_there(b, cause):
    assert causes(seen(QUIET, QUIET | b)) == [("nginx-h3", cause)]
    assert causes(seen(QUIET | b, QUIET)) == [("h2", cause)]


@pytest.mark.parametrize("b", [{"down_lost": 2.0}, {"declared_lost": 2.0}, {"wait_ms": 52.0}])
def test_little_points_nowhere(b):
    assert causes(seen(QUIET, QUIET | b)) == []


def test_only_reported_metrics_are_shown():
    found = rows(seen(QUIET, QUIET | {"server_ms": 12.0}))
    assert len(found) == 4
    assert (IN_THE_SERVER, DASH, "12 ms") in found
