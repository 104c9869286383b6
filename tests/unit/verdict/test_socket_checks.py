"""A WebSocket beside any stack is honest; other traffic on its connection is not."""

import pytest
from msgspec import structs

import made
from dragstrip.model.sockets import ServedSocket, Socket
from dragstrip.model.thresholds import DEFAULTS
from dragstrip.model.visit import Connection, Visit
from dragstrip.verdict.judge import judge

SOCKET = Socket(url="wss://a.test/live", host="a.test", status=101, start_ms=400.0, open_ms=600.0)


def opened(protocol: str = "h1", connection: int = 2) -> ServedSocket:
    return ServedSocket(
        t_us=1_000_500_000,
        host="a.test",
        url=SOCKET.url,
        protocol=protocol,
        connection=connection,
        client_port=4001,
        status=101,
        recorded=True,
    )


def beside(visit: Visit, *more: Connection) -> Visit:
    """The visit with a socket on another TCP connection, in whatever state TCP has there."""
    own = structs.replace(
        visit.connections[0],
        id=2,
        protocol="h1",
        client_port=4001,
        t_us=1_000_400_000,
        resumed=True,
        transport=made.transport(made.STACKS["h1"]),
    )
    return structs.replace(
        visit,
        sockets=(SOCKET,),
        served_sockets=(opened(),),
        connections=(*visit.connections, own, *more),
    )


def against(visit: Visit, protocol: str) -> list[str]:
    found = judge(visit, made.PAGE, made.LTE, made.STACKS[protocol], DEFAULTS)
    return [f"{r.code}: {r.detail}" for r in found]


@pytest.mark.parametrize("protocol", ["h1", "h2", "h3"])
def test_a_socket_beside_the_stack_is_honest(protocol):
    assert against(beside(made.visit(protocol)), protocol) == []


def test_firefox_asks_by_h2_first_whether_that_has_sockets():
    probe = structs.replace(
        made.visit("h2").connections[0], id=3, client_port=4002, t_us=1_000_050_000, resumed=True
    )
    assert against(beside(made.visit("h3"), probe), "h3") == []


def test_a_socket_on_the_pages_own_connection_leaves_that_to_be_judged():
    base = made.visit("h2")
    warm = structs.replace(base.connections[0], resumed=True)
    visit = structs.replace(
        base, sockets=(SOCKET,), served_sockets=(opened("h2", 1),), connections=(warm,)
    )
    assert any("resumed a TLS session" in why for why in against(visit, "h2"))


def test_an_ordinary_request_over_h1_is_no_socket():
    base = beside(made.visit("h3"))
    *served, last = base.served
    lie = structs.replace(base, served=(*served, structs.replace(last, protocol="h1")))
    assert any("mixed" in why and "origin" in why for why in against(lie, "h3"))
    *asked, last = base.requests
    lie = structs.replace(base, requests=(*asked, structs.replace(last, protocol="h1")))
    assert any("mixed" in why and "browser" in why for why in against(lie, "h3"))


def test_tcp_of_a_stack_of_tcp_is_judged_with_a_socket_too():
    base = beside(made.visit("h2"))
    *others, own = base.connections
    assert own.transport
    lying = structs.replace(own, transport=structs.replace(own.transport, congestion="reno"))
    lie = structs.replace(base, connections=(*others, lying))
    assert any("congestion control is reno" in why for why in against(lie, "h2"))


def test_a_connection_to_another_host_is_no_part_of_a_socket():
    stranger = structs.replace(
        made.visit("h2").connections[0], id=3, host="b.test", client_port=4002
    )
    assert 3 not in beside(made.visit("h3"), stranger).beside_ids
