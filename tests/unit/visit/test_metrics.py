"""The table of metrics: definitions checked on visits whose answers can be worked out by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

import made
from documented import check_table
from dragstrip.model.effects import DROPS
from dragstrip.model.network import Network
from dragstrip.model.visit import LinkReport, Visual
from dragstrip.visit.ideal import earliest_rtts, ideal_ms
from dragstrip.visit.intervals import union_ms
from dragstrip.visit.metrics import METRICS, measures, network_plt_ms, object_times
from dragstrip.visit.physics import floor_ms

TEN = Network.parse("8mbit/8mbit/50ms/0%/200ms")  # 1 byte = 1 us, round trip 100 ms

SPANS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)), max_size=12)


@given(SPANS)
def test_a_union_counts_every_moment_once(spans):
    intervals = [(start, start + length) for start, length in spans]
    covered = {t for start, end in intervals for t in range(start, end)}
    assert union_ms(intervals) == len(covered)


def timed(name: str, start_ms: float, end_ms: float, kind: str = "Image", **changes):
    request = made.request(f"https://a.test/{name}", "h2", start_ms)
    return structs.replace(request, end_ms=end_ms, resource_type=kind, **changes)


def test_network_time_leaves_out_scripts_gaps_and_what_comes_after_the_load_event():
    visit = made.visit(
        plt_ms=900.0,
        requests=(
            timed("", 0, 100, "Document"),
            timed("1.js", 100, 300, "Script"),
            timed("2.png", 250, 400),
            timed("3.png", 300, 350),
            timed("4.png", 800, 1000),
            timed("late.png", 950, 1200),
            timed("gone.png", 500, 600, error="net::ERR_ABORTED"),
            timed("old.png", 500, 600, from_cache=True),
        ),
    )
    assert network_plt_ms(visit) == 100 + 150 + 200
    assert network_plt_ms(structs.replace(visit, plt_ms=None)) is None


def test_objects_with_and_without_queueing():
    times = object_times(made.visit(requests=(timed("", 10, 100),)))
    assert [(t.queued_ms, t.sent_ms) for t in times] == [(90, 89)]


def chain(*parts: tuple[str, str, int], protocol="h2"):
    """Requests from (url, initiator, bytes), all of which ended before the load event."""
    return tuple(
        structs.replace(
            made.request(url, protocol, 0.0),
            host=url.split("/")[2],
            initiator=initiator,
            wire_bytes=size,
        )
        for url, initiator, size in parts
    )


DOC, CSS, FONT, FAR = "https://a/", "https://a/c.css", "https://a/f.woff", "https://b/i.png"


def test_round_trips_follow_the_initiators():
    requests = chain((DOC, "", 1), (CSS, DOC, 1), (FONT, CSS, 1), (FAR, DOC, 1), (FAR, FONT, 1))
    assert earliest_rtts(requests, 2) == [3, 4, 5, 6, 6]
    assert earliest_rtts(requests, 1) == [2, 3, 4, 4, 5]
    assert earliest_rtts((), 2) == []


def test_the_ideal_load_is_bound_by_bytes_or_by_depth():
    def ideal(*parts):
        return ideal_ms(made.visit(plt_ms=5000.0, requests=chain(*parts)), TEN, made.STACKS["h2"])

    assert ideal((DOC, "", 0)) == 300
    assert ideal((DOC, "", 700_000)) == 300 + 700  # all bytes after the first answer
    assert ideal((DOC, "", 0), (CSS, DOC, 0), (FONT, CSS, 50_000)) == 500 + 50  # the last object
    assert ideal((DOC, "", 400_000), (CSS, DOC, 0), (FONT, CSS, 50_000)) == 300 + 450  # the bytes


@given(
    st.lists(st.tuples(st.sampled_from([DOC, CSS, FONT, FAR]), st.integers(0, 10**6)), min_size=1)
)
def test_the_ideal_is_never_below_the_verdicts_bound(objects):
    requests = chain(*((url, DOC if i else "", size) for i, (url, size) in enumerate(objects)))
    visit = made.visit(plt_ms=5000.0, requests=requests)
    assert ideal_ms(visit, TEN, made.STACKS["h3"]) >= floor_ms(visit, TEN, made.STACKS["h3"]) - 1e-6


def test_bytes_losses_and_rates_come_from_the_link():
    visit = made.visit(
        plt_ms=1000.0,
        link=LinkReport(
            down=made.direction(bytes_in=66_000, bytes_out=63_000, dropped_loss=3, dropped_queue=2),
            up=made.direction(
                bytes_out=4_000,
                **{count.field: 10**n for n, count in enumerate(DROPS)},
            ),
        ),
        visual=Visual(frames=3, fvc_ms=5.0, progress=((5.0, 0.5), (9.0, 0.85), (12.0, 1.0))),
    )
    found = measures(visit, TEN, made.STACKS["h2"])
    assert found["packets_lost"] == 5 + int("1" * len(DROPS))  # one digit for each cause
    assert (found["down_bytes"], found["up_bytes"]) == (63_000, 4_000)
    assert found["down_overhead"] == pytest.approx(0.1)  # beyond three objects of 20 kB
    assert found["utilisation"] == pytest.approx(63_000 * 8 / (8e6 * 1.0))
    assert found["goodput_mbps"] == pytest.approx(60_000 * 8 / 1e6)
    assert (found["fvc_ms"], found["vc85_ms"], found["lvc_ms"]) == (5.0, 9.0, None)
    assert (found["handshake_ms"], found["connect_to_request_ms"]) == (160, 160)
    assert found["connections_per_host"] == 1


def test_a_visit_that_failed_has_no_times_of_a_load():
    failed = made.visit(
        outcome="timeout", plt_ms=None, dcl_ms=None, ttfb_ms=None, requests=(), connections=(),
        link=None, host=None,
    )  # fmt: skip
    found = measures(failed, TEN, made.STACKS["h2"])
    assert {name for name, value in found.items() if value is not None} == {
        "requests",
        "connections",
        "coalesced_requests",
        "sockets",
        "sockets_beside",
    }


def test_every_metric_is_documented_in_its_own_words():
    assert len({m.name for m in METRICS}) == len(METRICS)
    rows = [(f"`{m.name}`", m.unit, m.better, m.meaning, m.source) for m in METRICS]
    check_table("reference/metrics.md", rows)
