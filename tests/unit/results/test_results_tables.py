from dragstrip.model.visit import (
    DirectionReport,
    HostReport,
    LinkReport,
    Overhead,
    Reason,
    Request,
    Served,
    Visit,
)
from dragstrip.results.tables.build import frames

DIRECTION = DirectionReport(
    packets_in=200,
    bytes_in=250_000,
    packets_out=198,
    bytes_out=247_500,
    dropped_loss=2,
    dropped_queue=0,
    queued=0,
    largest_frame_bytes=1514,
    ring_drops=0,
    queue_max_ms=12.0,
    busy_ms=200.0,
    busy_bytes=250_000,
    transit_min_ms=20.1,
    lateness_p50_us=10.0,
    lateness_p99_us=90.0,
    lateness_max_us=400.0,
)
REQUEST = Request(
    url="https://a.test/", host="a.test", protocol="h2", start_ms=1, wire_bytes=1200, status=200
)
SERVED = Served(
    t_us=1,
    end_us=2,
    host="a.test",
    method="GET",
    url="https://a.test/",
    protocol="h2",
    connection=1,
    client_port=4000,
    resumed=False,
    early=False,
    status=200,
    body_bytes=1000,
    match="exact",
)
FULL = Visit(
    block="p|n|0",
    attempt=1,
    position=2,
    page="p",
    network="n",
    stack="h2",
    seed=2**48 - 1,
    started_us=1_760_000_000_000_000,
    outcome="loaded",
    plt_ms=900.0,
    requests=(REQUEST, REQUEST, Request(url="u", host="b", protocol="h1", start_ms=2)),
    served=(SERVED,),
    link=LinkReport(down=DIRECTION, up=DIRECTION),
    host=HostReport(wall_ms=1000, busy_share=0.5, steal_share=0.0),
    overhead=Overhead(prepare_ms=1, before_navigation_ms=2, settle_ms=3, collect_ms=4),
    reasons=(Reason("mixed", "1 of 3"), Reason("overloaded", "late")),
)
BARE = Visit(
    block="p|n|0",
    attempt=0,
    position=0,
    page="p",
    network="n",
    stack="h3",
    seed=1,
    started_us=1,
    outcome="failed",
)


def test_one_row_per_visit_with_everything_flattened() -> None:
    full, bare = frames([FULL, BARE])["visits"].to_dicts()
    assert full["seed"] == 2**48 - 1
    assert (full["verdict"], full["valid"]) == ("mixed,overloaded", False)
    assert full["reasons"] == ["mixed: 1 of 3", "overloaded: late"]
    assert (full["requests"], full["served"], full["wire_bytes"]) == (3, 1, 2400)
    assert (full["protocol_share_h1"], full["protocol_share_h3"]) == (1 / 3, 0)
    assert (full["overhead_collect_ms"], full["host_busy_share"]) == (4, 0.5)
    assert (full["link_down_realised_mbps"], full["link_up_realised_loss"]) == (10.0, 0.01)
    assert (bare["valid"], bare["plt_ms"], bare["link_down_packets_in"]) == (True, None, None)


def test_requests_and_served_carry_the_visit_they_belong_to() -> None:
    tables = frames([FULL, BARE])
    assert tables["requests"].height == 3
    assert tables["served"].height == 1
    shared = ["block", "attempt", "stack", "page", "network", "valid"]
    for table in tables.values():
        assert table.columns[:6] == shared
    joined = tables["requests"].join(tables["visits"], on=shared)
    assert joined["plt_ms"].to_list() == [900.0] * 3


def test_columns_are_the_same_without_rows() -> None:
    full, empty = frames([FULL]), frames([])
    assert {n: t.schema for n, t in full.items()} == {n: t.schema for n, t in empty.items()}


def test_every_time_carries_its_unit() -> None:
    floats = {
        name
        for table in frames([]).values()
        for name, kind in table.schema.items()
        if kind.is_float()
    }
    units = ("_ms", "_us", "_s", "_mbps", "_mhz", "_share", "_loss", "_h1", "_h2", "_h3")
    units += ("_over_ideal", "_overhead", "utilisation")  # metrics that are shares by their meaning
    units += ("cpu_slowdown",)  # a factor
    units += ("protocol_share_gquic", "protocol_share_spdy")
    assert {name for name in floats if not name.endswith(units)} == set()
