"""Early data of any server: the link sees that it was sent, and times show that it was accepted."""

import pytest
from msgspec import structs

import made
from dragstrip.model.network import Network
from dragstrip.model.servers import Server
from dragstrip.model.stack import Stack
from dragstrip.model.visit import FarEnd, Reason, Visit
from dragstrip.study.presets import find_stack
from dragstrip.verdict.early_checks import early_data

RTT_MS = made.LTE.least_rtt_ms
UP_MS = made.LTE.up.least_delay_ms
NGINX = {
    transport: structs.replace(find_stack(f"nginx-{transport}"), early_data=True)
    for transport in ("h2", "h3")
}
ROUND_TRIPS = {"h2": 2, "h3": 1}
"""Round trips before a request that is no early data may be sent (RFC 8446 section 2, RFC 9000
section 7)."""


def repeat(stack: Stack, *, came_ms: float = 0.0, early: int | None = 1) -> Visit:
    """A repeat visit whose first request reached the server that long after the least time without
    early data; negative for earlier."""
    base = made.visit(stack.protocol, connection="repeat")
    document, *others = base.requests
    fast = structs.replace(document, send_start_ms=1.0, connect_end_ms=1.0)
    at_ms = ROUND_TRIPS[stack.protocol] * RTT_MS + UP_MS + came_ms
    first, *rest = base.served
    first = structs.replace(first, t_us=base.started_us + round(at_ms * 1000))
    (connection,) = base.connections
    return structs.replace(
        base,
        requests=(fast, *others),
        served=(first, *rest),
        connections=(structs.replace(connection, resumed=True, transport=None),),
        link=structs.replace(base.link, up=made.direction(far_ends=(sent(early),))),
        host=structs.replace(base.host, browser_wait_ms=0.0, server_wait_ms=0.0),
    )


def sent(packets: int | None, at_us: int = 1_000_000_000) -> FarEnd:
    return made.far_end(early_packets=packets, first_early_us=at_us if packets else None)


def against(seen: Visit, stack: Stack, network: Network = made.LTE) -> list[Reason]:
    return list(early_data(seen, made.PAGE, network, stack))


@pytest.mark.parametrize("protocol", ["h2", "h3"])
def test_time_shows_that_a_server_took_early_data(protocol):
    """A server that refuses the early data gets the request again after the handshake."""
    stack = NGINX[protocol]
    assert against(repeat(stack, came_ms=-RTT_MS), stack) == []
    assert against(repeat(stack, came_ms=-0.1), stack) == []
    (found,) = against(repeat(stack, came_ms=0.0), stack)
    assert found.code == "stack-drift"
    assert "refused it" in found.detail


@pytest.mark.parametrize("protocol", ["h2", "h3"])
def test_the_link_shows_that_a_browser_sent_none(protocol):
    stack = NGINX[protocol]
    (found,) = against(repeat(stack, early=0), stack)
    assert "the browser sent none" in found.detail


def test_an_old_capsule_is_judged_by_time_alone():
    stack = NGINX["h3"]
    assert against(repeat(stack, came_ms=-1.0, early=None), stack) == []
    (found,) = against(repeat(stack, early=None), stack)
    assert "none was used" in found.detail


@pytest.mark.parametrize(
    "network",
    [
        "10.5mbit/2.8mbit/37ms/0%/200ms",
        pytest.param("10.5mbit/0.2mbit/37ms/0%/200ms", id="a slow way up"),
        pytest.param("10.5mbit/2.8mbit/2ms/0%/200ms", id="a bare link"),
    ],
)
def test_time_shows_nothing_where_the_network_takes_as_long_as_a_round_trip(network):
    stack = NGINX["h3"]
    asked = Network.parse(network)
    clear = asked.up.rate_mbps > 1 and asked.least_rtt_ms > 10
    assert bool(against(repeat(stack), stack, asked)) == clear


def test_jitter_and_other_loads_may_delay_early_data():
    stack = NGINX["h3"]
    shaken = structs.replace(made.LTE.up, jitter_ms=30.0)
    assert against(repeat(stack), stack, structs.replace(made.LTE, up=shaken)) == []


@pytest.mark.parametrize("which", ["browser_wait_ms", "server_wait_ms"])
def test_early_data_may_wait_for_a_busy_cpu(which):
    stack = NGINX["h3"]
    seen = repeat(stack, came_ms=30.0)
    waited = structs.replace(seen, host=structs.replace(seen.host, **{which: 31.0}))
    assert against(waited, stack) == []
    assert against(structs.replace(seen, host=structs.replace(seen.host, **{which: 29.0})), stack)


def test_a_packet_that_was_lost_may_have_been_the_early_data():
    stack = NGINX["h3"]
    seen = repeat(stack)
    end = structs.replace(sent(1), dropped=1, first_drop_us=seen.started_us)
    link = structs.replace(seen.link, up=made.direction(far_ends=(end,)))
    assert against(structs.replace(seen, link=link), stack) == []


def test_a_server_that_decides_itself_may_take_it_or_not():
    stack = find_stack("caddy-today-h3")
    for early in (0, 1):
        assert against(repeat(stack, early=early), stack) == []


def test_without_a_log_only_what_was_never_sent_is_known():
    brought = Server(name="x", command=("x",))
    stack = Stack(name="x", protocol="h3", server="x", brought=brought, early_data=True)
    seen = structs.replace(repeat(stack), served=(), connections=())
    assert against(seen, stack) == []
    unsent = structs.replace(repeat(stack, early=0), served=(), connections=())
    (found,) = against(unsent, stack)
    assert "the browser sent none" in found.detail


@pytest.mark.parametrize("name", ["nginx-h2", "nginx-h3", "h2", "h3"])
def test_a_stack_without_early_data_has_none_on_the_wire(name):
    stack = find_stack(name)
    seen = repeat(stack, came_ms=10.0, early=0)
    assert against(seen, stack) == []
    (found,) = against(repeat(stack, came_ms=10.0), stack)
    assert found.code == "stack-drift"
    assert "has no early data" in found.detail


def warm(seen: Visit, at_us: int, name: str, network: Network = made.LTE) -> list[str]:
    """The codes if a first visit sent early data at that time."""
    stack = find_stack(name)
    stack = NGINX.get(name.removeprefix("nginx-"), stack)
    up = made.direction(far_ends=(sent(1, at_us),))
    told = structs.replace(seen, link=structs.replace(seen.link, up=up))
    return [r.code for r in against(told, stack, network)]


@pytest.mark.parametrize("name", ["nginx-h2", "nginx-h3", "caddy-today-h3"])
def test_a_first_visit_has_early_data_only_after_its_own_tickets(name):
    """A browser may open more connections in a visit, and resume with the tickets of the first,
    before any answer came."""
    seen = made.visit(find_stack(name).protocol)
    document, *others = seen.requests
    slow = structs.replace(document, connect_start_ms=20.0, response_start_ms=60_000.0)
    seen = structs.replace(seen, requests=(slow, *others))
    ticket_us = seen.started_us + round((20 + RTT_MS) * 1000)
    assert warm(seen, ticket_us, name) == []
    assert warm(seen, ticket_us - 1000, name) == ["warm"]


@pytest.mark.parametrize("name", ["nginx-h3", "caddy-today-h3"])
def test_on_a_bare_link_tickets_come_with_answers(name):
    seen = made.visit("h3")
    answered_us = seen.started_us + round(seen.requests[0].response_start_ms * 1000)
    bare = Network.parse("10.5mbit/2.8mbit/2ms/0%/200ms")
    assert warm(seen, answered_us, name, bare) == []
    assert warm(seen, answered_us - 1000, name, bare) == ["warm"]


@pytest.mark.parametrize(
    ("resumed", "late_us", "said"), [(False, 0, []), (False, -1000, ["warm"]), (True, 0, ["warm"])]
)
def test_a_log_tells_when_a_handshake_brought_the_first_ticket(resumed, late_us, said):
    """A resumed connection does not: it needed a ticket itself."""
    seen = made.visit("h3")
    (first,) = seen.connections
    ended_us = seen.started_us + 900_000
    first = structs.replace(first, address="10.64.1.1", handshake_end_us=ended_us, resumed=resumed)
    document, *others = seen.requests
    asked = structs.replace(document, connect_start_ms=900.0)
    seen = structs.replace(seen, connections=(first,), requests=(asked, *others))
    assert warm(seen, ended_us + late_us, "nginx-h3") == said
