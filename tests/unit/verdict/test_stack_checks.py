"""Each lie a stack can tell about its state is caught, and an honest one is believed."""

import pytest
from msgspec import structs

import made
from dragstrip.model.network import Network
from dragstrip.model.stack import Stack
from dragstrip.model.visit import Reason, Visit
from dragstrip.study.presets import find_stack
from dragstrip.verdict.cache_checks import cold
from dragstrip.verdict.early_checks import early_data
from dragstrip.verdict.stack_checks import handshakes, transport
from dragstrip.visit.physics import connect_rtts


def visit(stack: Stack, *, early: int = 0, resumed: bool = False, **changes: object) -> Visit:
    """A visit of `stack` whose first `early` requests came as early data."""
    base = made.visit(stack.protocol)
    (connection,) = base.connections
    told = structs.replace(connection, resumed=resumed, transport=made.transport(stack))
    served = [structs.replace(s, early=i < early) for i, s in enumerate(base.served)]
    return structs.replace(base, connections=(told,), served=tuple(served), **changes)


def told(stack: Stack, **changes: object) -> tuple[Reason, ...]:
    """Reasons against a visit with these changes to a connection's transport."""
    honest = visit(stack)
    bent = structs.replace(honest.connections[0], transport=made.transport(stack, **changes))
    return tuple(transport(structs.replace(honest, connections=(bent,)), made.LTE, stack))


def judged(seen: Visit, stack: Stack) -> set[str]:
    return {r.code for r in against(seen, stack)}


def against(seen: Visit, stack: Stack, network: Network = made.LTE) -> tuple[Reason, ...]:
    return (
        *cold(seen, made.PAGE, stack),
        *handshakes(seen, stack),
        *early_data(seen, made.PAGE, network, stack),
    )


@pytest.mark.parametrize("name", ["h1", "TCP", "TCP+", "TCP+BBR", "QUIC", "QUIC+BBR"])
def test_an_honest_transport_is_believed(name):
    assert told(find_stack(name)) == ()


@pytest.mark.parametrize(
    ("stack", "lie", "said"),
    [
        ("TCP", {"congestion": "bbr"}, "congestion control is bbr, not cubic"),
        ("TCP+BBR", {"congestion": "cubic"}, "congestion control is cubic"),
        ("QUIC+BBR", {"congestion": "cubic"}, "congestion control is cubic"),
        ("TCP+", {"initial_window_packets": 10}, "initial window is 10 packets, not 32"),
        ("QUIC", {"initial_window_packets": 10}, "initial window is 10 packets, not 32"),
        ("TCP+", {"paced": False}, "not paced"),
        ("QUIC", {"paced": False}, "not paced"),
        ("TCP", {"paced": True}, "should not be"),
        ("QUIC", {"packet_bytes": 1200}, "UDP payloads have 1200 bytes"),
        ("TCP", {"unsent_bytes": 16384}, "the kernel holds 16384 bytes unsent, not 4096"),
        ("QUIC", {"slow_start_exit": "none"}, "slow-start exit is none, not hystart"),
        ("TCP", {"slow_start_exit": "none"}, "slow-start exit is none, not hystart"),
    ],
)
def test_each_lie_about_the_transport_is_drift(stack, lie, said):
    (reason,) = told(find_stack(stack), **lie)
    assert reason.code == "stack-drift"
    assert said in reason.detail


@pytest.mark.parametrize("name", ["h2", "h3"])
@pytest.mark.parametrize(
    ("lie", "said"),
    [
        ({"window_bytes": 2**20}, "the flow-control window is 1048576 bytes, not 15728640"),
        ({"stream_window_bytes": 2**20}, "a stream's window is 1048576 bytes, not 15728640"),
        ({"streams": 100}, "the client may open 100 requests at once, not 256"),
        ({"streams": None}, "may open any number of requests at once, not 256"),
    ],
)
def test_each_lie_about_what_the_client_may_send_is_drift(name, lie, said):
    stack = find_stack(name)
    (reason,) = told(stack, offer=made.offer(stack, **lie))
    assert reason.code == "stack-drift"
    assert said in reason.detail


@pytest.mark.parametrize(
    ("asked", "sent", "said"),
    [
        (4000, 4012, ()),
        (4000, None, ()),  # resumed, or of a server that does not tell
        (None, 1100, ()),
        (500, 1100, ()),
        (4000, 1100, ("the certificate chain has 1100 bytes, not 4000",)),
    ],
)
def test_a_chain_that_is_too_small_is_drift(asked, sent, said):
    stack = structs.replace(find_stack("h2"), certificate_bytes=asked)
    honest = visit(stack)
    bent = structs.replace(honest.connections[0], certificate_bytes=sent)
    seen = structs.replace(honest, connections=(bent,))
    found = [r.detail for r in transport(seen, made.LTE, stack)]
    assert len(found) == len(said)
    assert all(a.startswith(b) for a, b in zip(found, said, strict=True))


@pytest.mark.parametrize(
    ("asked_s", "announced_ms", "said"),
    [
        (120, 120_000, ()),
        (None, 30_000, ()),  # the browser's own
        (120, None, ()),  # of an old capsule
        (120, 30_000, ("the client closes idle connections after 30000 ms, not 120 s",)),
        (120, 0, ("the client closes idle connections after 0 ms, not 120 s",)),
    ],
)
def test_a_client_with_another_idle_timeout_is_drift(asked_s, announced_ms, said):
    stack = structs.replace(find_stack("h3"), idle_timeout_s=asked_s)
    client = made.offer(stack, idle_ms=announced_ms)
    found = told(stack, offer=made.offer(stack), client_offer=client)
    assert len(found) == len(said)
    assert all(a.detail.startswith(b) for a, b in zip(found, said, strict=True))


def test_a_connection_without_requests_or_of_an_old_capsule_announces_nothing():
    assert told(find_stack("h2"), offer=None, unsent_bytes=None) == ()


@pytest.mark.parametrize(
    ("record", "lie", "said"),
    [
        (None, {"tls_largest_record_bytes": 16385}, "16385 bytes, not 16384"),
        (None, {"tls_largest_record_bytes": 4096}, "4096 bytes, not 16384"),
        (None, {"tls_largest_record_bytes": 16127}, "16127 bytes, not 16384"),
        (4096, {"tls_largest_record_bytes": 16384}, "16384 bytes, not 4096"),
        ("dynamic", {"tls_early_record_bytes": 16384}, "16384 bytes, not 1369"),
        ("dynamic", {"tls_largest_record_bytes": 1369}, "do not grow"),
    ],
)
def test_each_lie_about_tls_records_is_drift(record, lie, said):
    stack = structs.replace(find_stack("h2"), tls_record=record)
    honest = visit(stack)
    (connection,) = honest.connections
    long = structs.replace(honest.served[0], body_bytes=300_000, connection=connection.id)
    bent = structs.replace(connection, transport=made.transport(stack, **lie))
    seen = structs.replace(honest, connections=(bent,), served=(long,))
    (reason,) = transport(seen, made.LTE, stack)
    assert reason.code == "stack-drift"
    assert said in reason.detail
    honest = structs.replace(seen, connections=(connection,))
    told = structs.replace(connection, transport=made.transport(stack))
    assert tuple(transport(structs.replace(honest, connections=(told,)), made.LTE, stack)) == ()


@pytest.mark.parametrize(
    ("table_bytes", "entries", "requests", "after_rtts", "said"),
    [
        (4096, 0, 10, 4.1, "makes no use of QPACK's dynamic table"),
        (4096, 0, 9, 4.1, ""),
        (4096, 0, 10, 3.9, ""),
        (4096, 1, 10, 4.1, ""),
        (0, 0, 10, 4.1, ""),
        (0, 1, 1, 4.1, "used, but not offered"),
    ],
)
def test_a_header_table_is_used_exactly_if_it_is_offered(
    table_bytes, entries, requests, after_rtts, said
):
    stack = structs.replace(find_stack("QUIC"), qpack_table_bytes=table_bytes)
    used = made.transport(stack, qpack_request_entries=entries, qpack_answer_entries=0)
    seen = visit(stack)
    connection = structs.replace(seen.connections[0], transport=used)
    at_us = connection.t_us + round(after_rtts * made.LTE.rtt_ms * 1000)
    answer = structs.replace(seen.served[0], connection=connection.id, t_us=at_us)
    seen = structs.replace(seen, connections=(connection,), served=(answer,) * requests)
    details = [reason.detail for reason in transport(seen, made.LTE, stack)]
    assert [said in detail for detail in details] == ([True] if said else [])


@pytest.mark.parametrize(
    ("longest", "largest", "believed"),
    [
        (40_371, 16_157, True),  # a picture that shared its records with the heads of others
        (40_371, 8192, True),
        (40_371, 8191, False),
        (262_144, 16_128, True),
        (262_144, 16_127, False),
        (32_767, 900, True),
    ],
)
def test_a_record_need_be_full_only_where_an_answer_fills_many(longest, largest, believed):
    stack = find_stack("h2")
    honest = visit(stack)
    (connection,) = honest.connections
    answer = structs.replace(honest.served[0], body_bytes=longest, connection=connection.id)
    sent = structs.replace(
        connection,
        transport=made.transport(
            stack, tls_largest_record_bytes=largest, tls_early_record_bytes=largest
        ),
    )
    seen = structs.replace(honest, connections=(sent,), served=(answer,))
    assert (not list(transport(seen, made.LTE, stack))) == believed


def test_short_answers_say_nothing_about_large_records():
    assert told(find_stack("h2"), tls_largest_record_bytes=900, tls_early_record_bytes=900) == ()


def test_a_connection_that_tells_nothing_is_drift():
    stack = find_stack("TCP")
    silent = structs.replace(visit(stack).connections[0], transport=None)
    (reason,) = transport(structs.replace(visit(stack), connections=(silent,)), made.LTE, stack)
    assert reason.code == "stack-drift"


def test_the_least_payload_after_losses_is_no_lie():
    assert told(find_stack("QUIC"), packet_bytes=1200, lost_packets=9) == ()


def test_a_window_that_a_lost_handshake_shrank_is_no_lie():
    stack = find_stack("TCP+")
    assert told(stack, initial_window_packets=1, retransmitted_packets=1) == ()
    assert told(stack, initial_window_packets=1, retransmitted_packets=0) != ()


@pytest.mark.parametrize("name", ["TCP", "TCP+early", "QUIC", "QUIC-1RTT"])
def test_a_first_visit_must_be_cold(name):
    stack = find_stack(name)
    assert judged(visit(stack), stack) == set()
    assert "warm" in judged(visit(stack, resumed=True), stack)
    assert "warm" in judged(visit(stack, early=1), stack)


@pytest.mark.parametrize(("spare_ends_us", "said"), [(1_000_250_000, set()), (1, {"warm"})])
def test_a_spare_connection_may_resume_what_another_ended_before_it(spare_ends_us, said):
    """A browser opens two connections. The origin accepts the spare one first, which may resume the
    other's session if its handshake ends later."""
    stack = find_stack("TCP")
    (first,) = visit(stack).connections
    first = structs.replace(first, handshake_end_us=first.t_us + 100_000)
    spare = structs.replace(
        first, id=2, t_us=first.t_us - 10, handshake_end_us=spare_ends_us, resumed=True
    )
    assert judged(structs.replace(visit(stack), connections=(first, spare)), stack) == said


@pytest.mark.parametrize(("resumed", "said"), [(True, set()), (False, {"stack-drift"})])
def test_the_connection_that_a_repeat_visit_opens_first_may_end_its_handshake_later(resumed, said):
    stack = find_stack("TCP")
    (first,) = visit(stack, resumed=resumed, connection="repeat").connections
    first = structs.replace(first, handshake_end_us=first.t_us + 300_000)
    other = structs.replace(
        first, id=2, t_us=first.t_us + 10, handshake_end_us=first.t_us + 90_000, resumed=False
    )
    seen = structs.replace(
        visit(stack, resumed=resumed, connection="repeat"), connections=(first, other)
    )
    assert judged(seen, stack) == said


@pytest.mark.parametrize(
    ("name", "resumed", "early", "verdict"),
    [
        ("TCP", True, 0, set()),
        ("TCP", False, 0, {"stack-drift"}),
        ("TCP", True, 1, {"stack-drift"}),
        ("TCP+early", True, 1, set()),
        ("TCP+early", True, 0, {"stack-drift"}),
        ("TFO+early", True, 1, set()),
        ("TFO+early", True, 0, {"stack-drift"}),
        ("QUIC", True, 1, set()),
        ("QUIC", True, 0, {"stack-drift"}),
        ("QUIC-1RTT", True, 0, set()),
        ("QUIC-1RTT", True, 1, {"stack-drift"}),
    ],
)
def test_a_repeat_visit_must_be_what_the_stack_promises(name, resumed, early, verdict):
    stack = find_stack(name)
    seen = visit(stack, resumed=resumed, early=early, connection="repeat")
    assert judged(seen, stack) == verdict


DOCUMENT_US = made.visit().served[0].t_us


@pytest.mark.parametrize(
    ("up", "said"),
    [
        ({"far_ends": (made.far_end(dropped=1, first_drop_us=DOCUMENT_US - 1),)}, set()),
        ({"far_ends": (made.far_end(dropped=1, first_drop_us=DOCUMENT_US),)}, {"stack-drift"}),
        (
            {"far_ends": (made.far_end(address="10.64.1.2", first_drop_us=DOCUMENT_US - 1),)},
            {"stack-drift"},
        ),
        ({"dropped_loss": 9}, {"stack-drift"}),
        ({"reordered": 1}, set()),
        ({"far_ends": None, "dropped_loss": 1}, set()),  # a capsule without this field
        ({"far_ends": None}, {"stack-drift"}),
    ],
)
@pytest.mark.parametrize("name", ["QUIC", "TCP+early", "TFO+early"])
def test_early_data_may_be_lost_with_its_own_packet_and_no_other(name, up, said):
    stack = find_stack(name)
    link = structs.replace(made.visit().link, up=made.direction(**up))
    assert judged(visit(stack, resumed=True, connection="repeat", link=link), stack) == said


def test_a_handshake_on_a_bare_link_may_be_over_before_the_request():
    stack = find_stack("QUIC")
    seen = visit(stack, resumed=True, connection="repeat")
    for delay_ms, said in ((4.9, set()), (5.0, {"stack-drift"})):
        network = Network.parse(f"10mbit/10mbit/{delay_ms}ms/0%/200ms")
        assert {r.code for r in against(seen, stack, network)} == said


@pytest.mark.parametrize(
    ("name", "waited_rtts", "said"),
    [
        ("QUIC", 0.1, {"stack-drift"}),
        ("QUIC", 1.0, set()),
        ("TCP+early", 1.1, {"stack-drift"}),
        ("TCP+early", 2.0, set()),
        ("TFO+early", 0.1, {"stack-drift"}),
        ("TFO+early", 1.1, set()),  # Fast Open alone sends as soon
    ],
)
def test_another_hosts_first_request_counts_if_it_did_not_wait(name, waited_rtts, said):
    """A connection that was opened before its request carries no early data."""
    stack = find_stack(name)
    seen = visit(stack, resumed=True, early=3, connection="repeat")
    sent_ms = 300.0 + waited_rtts * made.LTE.least_rtt_ms
    request = made.request("https://b.test/", stack.protocol, 300.0, connects=True)
    request = structs.replace(request, host="b.test", send_start_ms=sent_ms)
    line = made.served("https://b.test/", stack.protocol, host="b.test", connection=2)
    second = structs.replace(seen.connections[0], id=2, host="b.test")
    seen = structs.replace(
        seen,
        requests=(*seen.requests, request),
        served=(*seen.served, line),
        connections=(*seen.connections, second),
    )
    assert judged(seen, stack) == said


def test_a_host_that_never_answered_before_cannot_be_resumed():
    stack = find_stack("TCP")
    seen = visit(stack, connection="repeat")
    assert judged(seen, stack) == {"stack-drift"}
    assert judged(structs.replace(seen, primed=("a.test",)), stack) == {"stack-drift"}
    assert judged(structs.replace(seen, primed=()), stack) == set()


def test_a_host_met_only_over_tcp_cannot_be_resumed_over_quic():
    stack = find_stack("h3-altsvc")
    seen = structs.replace(visit(stack, connection="repeat"), primed=("a.test",))
    assert judged(seen, stack) == {"stack-drift"}
    assert judged(structs.replace(seen, primed_quic=("a.test",)), stack) == {"stack-drift"}
    assert judged(structs.replace(seen, primed_quic=()), stack) == set()


def test_a_repeat_visit_over_an_open_connection_repeats_nothing():
    stack = find_stack("TCP")
    seen = visit(stack, resumed=True, connection="repeat")
    elsewhere = tuple(structs.replace(s, connection=7) for s in seen.served)
    assert judged(structs.replace(seen, served=elsewhere), stack) == {"stack-drift"}


def test_a_stack_without_resumption_stays_cold_when_repeated():
    stack = structs.replace(find_stack("TCP"), resumption=False)
    assert judged(visit(stack, connection="repeat"), stack) == set()
    assert judged(visit(stack, resumed=True, connection="repeat"), stack) == {"stack-drift"}


def test_cached_answers_belong_to_one_mode_only():
    stack = find_stack("TCP")
    base = visit(stack, resumed=True)
    first, *rest = base.requests
    seen = structs.replace(
        base,
        requests=(first, structs.replace(rest[0], from_cache=True)),
        served=tuple(s for s in base.served if s.url != rest[0].url),
    )
    assert judged(structs.replace(seen, connection="repeat"), stack) == {"warm"}
    assert judged(structs.replace(seen, connection="repeat-cached"), stack) == set()


@pytest.mark.parametrize(
    ("name", "first", "repeat"),
    [
        ("h1", 2, 2),
        ("TCP+", 2, 2),
        ("TCP-TLS1.2", 2, 2),
        ("TCP+early", 2, 1),
        ("QUIC-1RTT", 1, 1),
        ("QUIC", 1, 0),
        ("QUIC-altsvc", 2, 0),
        ("h3-altsvc", 2, 1),
        ("h3", 1, 1),
    ],
)
def test_the_round_trips_no_connection_can_beat(name, first, repeat):
    stack = find_stack(name)
    modes = [visit(stack, connection=mode) for mode in ("first", "repeat")]
    assert [connect_rtts(v, stack) for v in modes] == [first, repeat]


def test_http_takes_a_handshake_of_tcp_alone():
    stack = find_stack("QUIC-1RTT")
    plain = made.request("http://a.test/", "h1", 0)
    assert connect_rtts(visit(stack, requests=(plain,)), stack) == 1
    secure = made.request("https://a.test/", "h1", 0)
    assert connect_rtts(visit(find_stack("h1"), requests=(secure,)), find_stack("h1")) == 2


@pytest.mark.parametrize(
    ("mode", "resumed", "codes"),
    [
        ("first", (True, False), set()),
        ("first", (True, True), {"warm"}),
        ("repeat", (False, True), set()),
        ("repeat", (False, False), {"stack-drift"}),
    ],
)
def test_where_idle_connections_are_untold_any_of_a_host_may_be_its_first(mode, resumed, codes):
    stack = find_stack("caddy-h2")
    assert "idle" in stack.untold
    (one,) = visit(stack).connections
    many = tuple(
        structs.replace(one, id=i, t_us=one.t_us + i, resumed=was) for i, was in enumerate(resumed)
    )
    seen = visit(stack, connection=mode)
    served = tuple(structs.replace(s, connection=0) for s in seen.served)
    assert judged(structs.replace(seen, connections=many, served=served), stack) == codes


@pytest.mark.parametrize(("name", "codes"), [("caddy-h2", set()), ("h2", {"stack-drift"})])
def test_a_spare_connection_may_have_used_up_a_hosts_only_ticket(name, codes):
    stack = find_stack(name)
    (one,) = visit(stack).connections
    other = structs.replace(one, id=one.id + 1, host="b.test", t_us=one.t_us + 1)
    seen = visit(stack, connection="repeat", resumed=True)
    resumed = (*seen.connections, other)
    told = list(handshakes(structs.replace(seen, connections=resumed), stack))
    assert {reason.code for reason in told if "b.test" in reason.detail} == codes


SEARCHING = structs.replace(find_stack("h3"), name="searching", udp_start_bytes=1200)


@pytest.mark.parametrize(
    ("size", "sent", "lost"),
    [(1200, 299, 0), (1200, 5000, 7), (1262, 5000, 0), (1436, 5000, 0), (1452, 40, 0)],
)
def test_a_search_for_the_packet_size_may_end_where_the_path_or_the_load_ends(size, sent, lost):
    found = {"packet_bytes": size, "sent_packets": sent, "lost_packets": lost}
    assert told(SEARCHING, **found) == ()


def test_a_search_that_never_was_or_found_what_it_may_not_is_a_lie():
    (why,) = told(SEARCHING, packet_bytes=1200, sent_packets=300)
    assert "still have 1200 bytes: nothing searched for larger ones" in why.detail
    for size in (1199, 1453):
        (why,) = told(SEARCHING, packet_bytes=size)
        assert f"UDP payloads have {size} bytes, not 1200 to 1452" in why.detail
    full = find_stack("h3")
    (why,) = told(full, packet_bytes=1200, sent_packets=5000)
    assert "UDP payloads have 1200 bytes, not 1452" in why.detail


def test_on_a_path_with_an_mtu_a_search_may_find_nothing():
    down = structs.replace(made.LTE.down, mtu=1228)
    narrow = structs.replace(made.LTE, down=down)
    honest = visit(SEARCHING)
    found = made.transport(SEARCHING, packet_bytes=1200, sent_packets=5000)
    ended = structs.replace(honest.connections[0], transport=found)
    assert list(transport(structs.replace(honest, connections=(ended,)), narrow, SEARCHING)) == []
