"""Each check accepts a believable visit, and gives a reason if the evidence is changed."""

import pytest
from msgspec import structs

import made
from dragstrip.browsers.exchanges import ABORTED
from dragstrip.model.background import Background, BackgroundReport
from dragstrip.model.bursts import GilbertElliott
from dragstrip.model.chance import loss_interval
from dragstrip.model.clock import NETWORK, PRICED, Clock
from dragstrip.model.effects import COUNTS, Direction
from dragstrip.model.network import Network
from dragstrip.model.thresholds import Thresholds
from dragstrip.model.trace import Trace
from dragstrip.model.visit import LinkReport, Reason, Request, Visit
from dragstrip.study.presets import find_stack
from dragstrip.verdict.block_checks import uneven_misses
from dragstrip.verdict.judge import judge
from dragstrip.verdict.request_checks import unanswered
from dragstrip.verdict.together import in_blocks, with_reasons
from dragstrip.visit.ideal import ideal_ms

EITHER = {NETWORK, PRICED}
ANY = EITHER | {Clock(kind="priced"), Clock(kind="computing")}


def reasons(visit: Visit, network: Network = made.LTE) -> tuple[Reason, ...]:
    return judge(visit, made.PAGE, network, made.STACKS[visit.stack], Thresholds())


def codes(visit: Visit, network: Network = made.LTE) -> set[str]:
    return {r.code for r in reasons(visit, network)}


def with_link(side: str, **changes: object) -> Visit:
    link = structs.replace(made.visit().link, **{side: made.direction(**changes)})
    return made.visit(link=link)


@pytest.mark.parametrize("protocol", ["h1", "h2", "h3"])
def test_a_believable_visit_is_valid(protocol):
    assert reasons(made.visit(protocol)) == ()


def test_every_request_on_another_protocol_is_a_fallback():
    slipped = made.visit("h2")
    assert codes(structs.replace(slipped, stack="h3")) == {"fallback"}


def test_one_slipped_request_is_mixed_and_named():
    visit = made.visit("h3")
    first, *rest = visit.requests
    bent = structs.replace(
        visit, requests=(first, structs.replace(rest[0], protocol="h2"), rest[1])
    )
    (reason,) = reasons(bent)
    assert reason.code == "mixed"
    assert rest[0].url in reason.detail


def test_the_origins_word_counts_even_if_the_browser_claims_the_protocol():
    visit = made.visit("h3")
    log = (made.served(made.PAGE.url, "h2"), *visit.served[1:])
    assert "mixed" in codes(structs.replace(visit, served=log))


def test_an_answer_the_origin_never_gave_is_drift():
    visit = made.visit()
    assert codes(structs.replace(visit, served=visit.served[:-1])) == {"stack-drift"}


def test_a_recorded_object_that_is_missing_is_always_a_replay_miss():
    visit = made.visit()
    log = [*visit.served[:-1], structs.replace(visit.served[-1], match="miss", status=404)]
    many = [made.served(f"https://a.test/{i}", "h2") for i in range(100)]
    (reason,) = reasons(structs.replace(visit, served=(*log, *many)))
    assert reason.code == "replay-miss"
    assert visit.served[-1].url in reason.detail


@pytest.mark.parametrize(
    ("stack", "error", "answered", "believed"),
    [
        ("SPDY", ABORTED, "https://a.test/", False),
        ("SPDY", ABORTED, "https://b.test/", True),
        ("h2-chromium70", ABORTED, "https://a.test/", True),
        ("SPDY", "net::ERR_CONNECTION_RESET", "https://a.test/", True),
        ("h2-chromium70", "net::ERR_CERT_INVALID", "https://b.test/", False),
        ("h2", "net::ERR_NAME_NOT_RESOLVED", "https://b.test/", False),
        ("h2", "net::ERR_FAILED", "https://a.test/", True),
        ("nginx-h2", "net::ERR_HTTP2_SERVER_REFUSED_STREAM", "https://a.test/", True),
        ("nginx-h3", "net::ERR_QUIC_GOAWAY_REQUEST_CAN_BE_RETRIED", "https://a.test/", True),
        ("h2", "net::ERR_HTTP2_SERVER_REFUSED_STREAM", "https://a.test/", False),
        ("nginx-h3", "net::ERR_QUIC_PROTOCOL_ERROR.QUIC_INVALID_X", "https://a.test/", True),
        ("h3", "net::ERR_QUIC_PROTOCOL_ERROR.QUIC_INVALID_X", "https://a.test/", False),
        ("h3", "net::ERR_QUIC_PROTOCOL_ERROR.QUIC_TOO_MANY_RTOS", "https://a.test/", True),
        ("h2", "mixed-content", "https://a.test/", True),
    ],
)
def test_a_request_that_never_arrived_is_the_networks_the_pages_or_the_testbeds(
    stack, error, answered, believed
):
    """Chromium 53 has no error name for a certificate that it refuses, but its host's silence shows
    it."""
    url = "https://b.test/i.png?random=1"
    lost = Request(url=url, host="b.test", protocol=None, error=error, start_ms=0.0)
    recorded = structs.replace(made.PAGE.resources[0], url="https://b.test/i.png?random=2")
    page = structs.replace(made.PAGE, resources=(*made.PAGE.resources, recorded))
    visit = made.visit(requests=(lost,), served=(made.served(answered, "h2"),))
    said = list(unanswered(visit, page, find_stack(stack)))
    assert [r.code for r in said] == ([] if believed else ["replay-miss"])
    unrecorded = unanswered(visit, made.PAGE, find_stack(stack))
    assert list(unrecorded) == []


@pytest.mark.parametrize(
    ("at_ms", "kind", "done", "stacks"),
    [
        (950, "XHR", "load", set()),
        (850, "XHR", "load", {"h3"}),
        (950, "Image", "load", {"h3"}),
        (950, "XHR", "network-idle", {"h3"}),
    ],
    ids=["late", "while another stack loaded", "the load waits for it", "so does an idle network"],
)
def test_a_fast_stack_has_no_time_for_a_late_report(at_ms, kind, done, stacks):
    url = "https://a.test/log"
    slow = made.visit("h3", done=done)
    late = made.served(url, "h3", match="miss", t_us=slow.started_us + at_ms * 1000)
    asked = structs.replace(made.request(url, "h3", float(at_ms)), resource_type=kind)
    slow = structs.replace(
        slow, plt_ms=1000.0, requests=(*slow.requests, asked), served=(*slow.served, late)
    )
    assert made.visit("h2").plt_ms == 900
    assert set(uneven_misses([slow, made.visit("h2"), made.visit("h1")])) == stacks


@pytest.mark.parametrize(("invented", "said"), [(5, set()), (6, {"replay-miss"})])
def test_invented_requests_count_only_beyond_the_threshold(invented, said):
    visit = made.visit()
    hits = tuple(made.served(f"https://a.test/x{i}", "h2") for i in range(97 - invented))
    misses = tuple(
        made.served(f"https://a.test/?{i}", "h2", match="miss", status=404) for i in range(invented)
    )
    assert codes(structs.replace(visit, served=(*visit.served, *hits, *misses))) == said


def test_misses_known_from_the_rehearsal_are_only_named():
    misses = tuple(
        made.served(f"https://a.test/ad?{i}", "h2", match="miss", status=404) for i in range(9)
    )
    visit = made.visit(served=(*made.visit().served, *misses))
    assert codes(visit) == {"replay-miss"}
    assert codes(structs.replace(visit, known_misses=("https://a.test/ad",))) == set()


def test_misses_only_one_stack_met_are_uneven():
    miss = made.served("https://a.test/ad?r=1", "h3", match="miss")
    other = made.served("https://a.test/ad?r=2", "h2", match="miss")
    both = [
        made.visit("h3", served=(*made.visit("h3").served, miss)),
        made.visit("h2", served=(*made.visit("h2").served, other)),
    ]
    assert uneven_misses(both) == {}
    uneven = [both[0], made.visit("h2")]
    [address] = {s.address for s in both[0].served if s.match == "miss"}
    own = structs.replace(both[0], known_misses=(address,))  # the rehearsal requested it too
    assert uneven_misses([own, made.visit("h2")]) == {}
    assert set(uneven_misses(uneven)) == {"h3"}
    found = in_blocks(made.study(), uneven)
    assert [v.verdict for v in with_reasons(uneven, found)] == ["replay-miss", "valid"]


def test_a_resumed_first_connection_is_warm_but_a_later_one_is_not():
    visit = made.visit()
    (first,) = visit.connections
    later = structs.replace(first, id=2, t_us=first.t_us + 1, resumed=True)
    assert codes(structs.replace(visit, connections=(first, later))) == set()
    resumed = structs.replace(first, resumed=True)
    assert codes(structs.replace(visit, connections=(resumed, later))) == {"warm"}


def test_a_load_faster_than_bytes_over_rate_is_impossible():
    visit = made.visit()
    huge = tuple(structs.replace(r, wire_bytes=30_000_000) for r in visit.requests)
    link = LinkReport(down=made.direction(bytes_out=99_000_000), up=made.direction())
    assert codes(structs.replace(visit, requests=huge, link=link)) == {"impossible"}


def test_first_bytes_and_answers_faster_than_round_trips_are_impossible():
    visit = made.visit()
    document, *rest = visit.requests
    assert codes(structs.replace(visit, ttfb_ms=221.0)) == {"impossible"}
    quick = structs.replace(rest[0], response_start_ms=rest[0].send_start_ms + 73)
    assert codes(structs.replace(visit, requests=(document, quick, rest[1]))) == {"impossible"}


@pytest.mark.parametrize(
    ("late", "answered_ms", "said"),
    [
        ((1,), 0, set()),
        ((1,), -5, {"impossible"}),  # its answer was faster than the way down
        ((0, 1, 2), 0, {"impossible"}),  # many such hide requests that went elsewhere
    ],
    ids=["busy", "answered too fast", "all late"],
)
def test_a_request_left_before_the_server_saw_it(late, answered_ms, said):
    """Firefox timestamps a request after writing it, and later still if it waits for a CPU
    meanwhile."""
    visit = made.visit()
    requests = list(visit.requests)
    for n in late:
        seen_ms = (visit.served[n].t_us - visit.started_us) / 1000
        requests[n] = structs.replace(
            requests[n],
            send_start_ms=seen_ms - made.LTE.up.delay_ms + 5,
            response_start_ms=seen_ms + made.LTE.down.delay_ms + answered_ms,
        )
    assert codes(structs.replace(visit, requests=tuple(requests))) == said


def test_a_bypassed_link_is_drift():
    assert codes(with_link("down", bytes_out=59_999)) == {"link-drift"}


def test_super_packets_and_ring_drops_are_drift():
    assert codes(with_link("down", largest_frame_bytes=1515)) == {"link-drift"}
    assert codes(with_link("up", ring_drops=1)) == {"link-drift"}
    assert codes(with_link("up", send_failures=1)) == {"link-drift"}


@pytest.mark.parametrize(("mbps", "said"), [(10.5, set()), (10.7, set()), (11.5, {"link-drift"})])
def test_the_realised_rate_is_judged(mbps, said):
    busy = {"busy_bytes": 1_000_000, "busy_ms": 8000 / mbps}
    assert codes(with_link("down", **busy)) == said


@pytest.mark.parametrize(("late_us", "said"), [(30_000.0, set()), (4000.0, {"link-drift"})])
def test_one_late_packet_does_not_change_the_rate(late_us, said):
    # 67 packets that queued of 9000, and 6 ms in which the link did not get to send.
    busy_ms = made.LTE.down.least_ms(101_438) + 6
    hiccup = with_link("down", busy_bytes=101_438, busy_ms=busy_ms, lateness_max_us=late_us)
    assert codes(hiccup) == said


@pytest.mark.parametrize(
    ("transit_ms", "said"), [(36.5, {"link-drift"}), (37.0, set()), (45.0, {"link-drift"})]
)
def test_the_least_transit_is_judged(transit_ms, said):
    assert codes(with_link("up", transit_min_ms=transit_ms)) == said


def test_missing_loss_is_drift_and_probable_loss_is_not():
    lossy = Network.parse("10.5mbit/2.8mbit/37ms/5%/200ms")
    both = made.direction(packets_out=1140, dropped_loss=60)
    good = made.visit(link=LinkReport(down=both, up=made.direction(dropped_loss=60)))
    assert codes(good, lossy) == set()
    assert codes(made.visit(), lossy) == {"link-drift"}


def test_loss_intervals_hold_their_tail():
    low, high = loss_interval(1200, 0.05, 1e-6)
    assert 20 < low < 60 < high < 110
    assert loss_interval(50, 0.05, 1e-6)[0] == 0
    assert loss_interval(50, 0.0, 1e-6) == (0, 0)


@pytest.mark.parametrize(("late_us", "of"), [(9.0, set()), (12.0, EITHER), (18.0, ANY)])
def test_in_virtual_time_a_packet_waits_for_one_system_call_at_most(late_us, of):
    """Capsules of older kernels allow that call, because all threads shared a processor."""
    sides = {"up": made.direction(lateness_max_us=2.0)}
    sides["down"] = made.direction(lateness_max_us=late_us)
    late = made.visit(link=structs.replace(made.visit().link, **sides))
    for clock in ANY:
        judged = judge(late, made.PAGE, made.LTE, made.STACKS[late.stack], Thresholds(), clock)
        assert {r.code for r in judged} == ({"link-drift"} if clock in of else set())


def test_lateness_and_steal_are_overload():
    assert codes(with_link("down", lateness_p99_us=1600.0)) == {"overloaded"}
    host = structs.replace(made.visit().host, steal_share=0.05)
    assert codes(made.visit(host=host)) == {"overloaded"}


def failed(**changes: object) -> Visit:
    blank = made.visit(outcome="failed", plt_ms=None, requests=(), served=(), connections=())
    return structs.replace(blank, **changes)


def test_a_failure_nothing_explains_is_drift():
    assert codes(failed()) == {"link-drift"}
    silent = made.direction(packets_in=0, packets_out=0, transit_min_ms=None)
    assert codes(failed(link=LinkReport(down=silent, up=silent))) == {"link-drift"}


def test_a_failure_the_asked_loss_explains_is_an_outcome():
    lossy = Network.parse("10.5mbit/2.8mbit/37ms/50%/200ms")
    some = made.direction(packets_in=6, packets_out=3, dropped_loss=3)
    assert codes(failed(link=LinkReport(down=some, up=some)), lossy) == set()


def on(network_down: Direction, **changes: object) -> set[str]:
    """Codes against a visit on LTE whose downstream is another and reported so."""
    return codes(with_link("down", **changes), structs.replace(made.LTE, down=network_down))


def test_loss_is_judged_by_what_reached_its_stage():
    lossy = structs.replace(made.LTE.down, loss=0.05)
    few = {"packets_in": 1200, "packets_out": 380, "loss_trials": 400}
    assert on(lossy, **few, dropped_loss=20) == set()
    assert on(lossy, packets_in=1200, loss_trials=1200, dropped_loss=10) == {"link-drift"}
    # A link without a stage of loss tries nothing.
    assert on(lossy, packets_out=1200, loss_trials=0, dropped_loss=0) == {"link-drift"}
    assert made.direction(packets_in=1200, loss_trials=400, dropped_loss=20).realised_loss == 0.05


@pytest.mark.parametrize(("flight_ms", "said"), [(37.1, set()), (39.0, {"link-drift"})])
def test_a_bottleneck_that_is_never_idle_does_not_show_the_delay(flight_ms, said):
    assert codes(with_link("down", transit_min_ms=60.0, flight_min_ms=flight_ms)) == said


def test_bursts_of_loss_may_vary_more_than_single_losses():
    chain = GilbertElliott(p=0.005, r=0.1)  # 4.76 % in bursts of ten
    lossy = structs.replace(made.LTE.down, gilbert_elliott=chain)
    single = structs.replace(made.LTE.down, loss=chain.loss)
    few = {"loss_trials": 3000, "dropped_loss": 40}
    assert (on(lossy, **few), on(single, **few)) == (set(), {"link-drift"})
    assert on(lossy, loss_trials=30_000, dropped_loss=100) == {"link-drift"}


BURSTS = {"loss_good": 0.01, "loss_bad": 0.5}
MET = {"loss_trials": 10_000, "burst_trials": 2000, "burst_lost": 1000, "dropped_loss": 1080}


@pytest.mark.parametrize(
    ("lie", "said"),
    [
        ({}, ""),
        ({"burst_lost": 0, "dropped_loss": 80}, "0 of 2000 packets in the bad state"),
        ({"dropped_loss": 1300}, "300 of 8000 packets in the good state"),
        ({"burst_watched_ms": None, "burst_ms": None}, "bursts of loss followed packets, not time"),
        ({"burst_ms": 0.0}, "bursts of loss held for 0 of 8000 ms; 20.00% asks for about 1600"),
        ({"burst_ms": 6000.0}, "bursts of loss held for 6000 of 8000 ms"),
        ({"burst_trials": None}, "no burst of loss followed time"),
    ],
)
def test_bursts_that_follow_time_lose_what_was_asked_as_long_as_was_asked(lie, said):
    chain = GilbertElliott(good_ms=80, bad_ms=20, **BURSTS)
    down = structs.replace(made.LTE.down, gilbert_elliott=chain)
    met = MET | {"burst_ms": 1700.0, "burst_watched_ms": 8000.0} | lie
    visit = with_link("down", **met)
    reasons = judge(
        visit, made.PAGE, structs.replace(made.LTE, down=down), made.STACKS["h2"], Thresholds()
    )
    details = [r.detail for r in reasons]
    assert any(said in detail for detail in details) if said else not details


def test_packets_may_meet_bursts_in_any_share():
    """A sender that pauses during the bad state meets little of it."""
    chain = GilbertElliott(good_ms=80, bad_ms=20)
    down = structs.replace(made.LTE.down, gilbert_elliott=chain)
    few = {"loss_trials": 1200, "burst_trials": 3, "burst_lost": 3, "dropped_loss": 3}
    assert on(down, **few, burst_ms=1700.0, burst_watched_ms=8000.0) == set()


def test_unwanted_bursts_are_drift():
    assert on(made.LTE.down, burst_trials=10, burst_lost=0) == {"link-drift"}
    by_packet = GilbertElliott(p=0.05, r=0.2, **BURSTS)
    down = structs.replace(made.LTE.down, gilbert_elliott=by_packet)
    assert on(down, **MET) == set()
    assert on(down, **MET, burst_ms=1.0, burst_watched_ms=5.0) == {"link-drift"}


@pytest.mark.parametrize("count", COUNTS, ids=lambda count: count.field)
def test_what_the_network_does_not_ask_for_is_drift(count):
    free = Direction(rate_mbps=10.5, delay_ms=37)
    assert not count.wanted(free)
    assert on(free, **{count.field: 1}) == {"link-drift"}


def test_jitter_widens_the_bounds_of_the_delay():
    jittery = structs.replace(made.LTE.down, jitter_ms=10)
    assert on(jittery, transit_min_ms=27.5) == set()
    assert on(jittery, transit_min_ms=26.5) == {"link-drift"}
    assert on(jittery, transit_min_ms=50.0) == {"link-drift"}


def test_a_trace_bounds_the_realised_rate_from_above():
    trace = Trace(name="made", steps=((0.0, 4.0), (1.0, 8.0), (2.0, 0.0)))
    played = Direction(trace=trace, delay_ms=37)
    assert on(played, busy_bytes=1_000_000, busy_ms=1000.0) == set()
    assert "link-drift" in on(played, busy_bytes=1_000_000, busy_ms=900.0)


@pytest.mark.parametrize(("idle_share", "said"), [(0.049, set()), (0.051, {"overloaded"})])
@pytest.mark.parametrize(
    "kept",
    [
        {"browser_wait_ms": 800.0, "outside_cpu_s": 0.8},
        {"others_share": 0.8, "browser_cpu_s": 0.5},
        {"steal_share": 0.3, "busy_share": 0.6, "browser_cpu_s": 0.5},
    ],
    ids=lambda kept: next(iter(kept)),
)
def test_a_busy_host_counts_where_the_load_could_have_been_shorter(kept, idle_share, said):
    assert codes(bound_by_its_link(idle_share, **kept)) == said


@pytest.mark.parametrize(("idle_share", "said"), [(0.279, set()), (0.281, {"overloaded"})])
def test_precedence_helps_a_load_that_the_network_decides(idle_share, said):
    kept = {"others_share": 0.8, "browser_cpu_s": 0.5, "precedence": True}
    assert codes(bound_by_its_link(idle_share, **kept)) == said
    assert codes(bound_by_its_link(0.9, **{**kept, "others_share": 0.2})) == {"overloaded"}
    assert codes(bound_by_its_link(0.9, others_share=0.2)) == set()


@pytest.mark.parametrize(("beside", "said"), [(0, set()), (1, {"overloaded"})])
def test_with_precedence_only_another_testbed_holds_a_thread_up(beside, said):
    waited = {"browser_wait_ms": 800.0, "outside_cpu_s": 0.8, "precedence": True}
    assert codes(structs.replace(bound_by_its_link(0.2, **waited), beside=beside)) == said


def test_a_bottleneck_busy_with_others_is_no_excuse():
    busy = bound_by_its_link(0.01, browser_wait_ms=800.0, outside_cpu_s=0.8)
    beside = structs.replace(
        busy, background=(BackgroundReport(load=Background(), seconds=1.0, sent_bytes=1),)
    )
    late, *rest = busy.requests
    after = structs.replace(busy, requests=(structs.replace(late, end_ms=950.0), *rest))
    assert "overloaded" in codes(beside)
    assert "overloaded" in codes(after)


def bound_by_its_link(idle_share: float, **kept: float) -> Visit:
    """A visit on a busy host: `kept` are the host's fields, and `idle_share` is the share of the
    load in which the bottleneck idled."""
    visit = made.visit("h2", host=structs.replace(made.visit().host, **kept))
    ideal = ideal_ms(visit, made.LTE, made.STACKS["h2"])
    assert ideal
    carried = made.LTE.down.least_ms(sum(r.wire_bytes for r in visit.requests))
    busy_ms = carried + visit.plt_ms * (1 - idle_share) - ideal
    link = LinkReport(down=made.direction(busy_ms=busy_ms, busy_bytes=0), up=made.direction())
    return structs.replace(visit, link=link)
