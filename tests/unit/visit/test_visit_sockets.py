"""Which lines of a server's log are WebSockets, and which are requests."""

import pytest
from msgspec import structs

import made
from dragstrip.browsers.sockets import SeenSocket
from dragstrip.model.sockets import PageSocket, ServedSocket, Socket
from dragstrip.model.visit import Served
from dragstrip.testbed.servers.origin import OriginLog
from dragstrip.visit.sockets import with_sockets

URL, HTTPS = "wss://a.test/live", "https://a.test/live"
SEEN = SeenSocket(socket=Socket(url=URL, host="a.test", start_ms=1.0))


def line(**changes: object) -> Served:
    return structs.replace(made.served(HTTPS, "h1"), **changes)


def told(*lines: Served, seen: tuple[SeenSocket, ...] = (SEEN,), page=made.PAGE, sockets=()):
    log = OriginLog(requests=lines, connections=(), sockets=sockets, cpu_s=None)
    log = with_sockets(log, seen, page)
    return [s.status for s in log.sockets], [s.status for s in log.requests]


@pytest.mark.parametrize("status", [101, 404, 426, 500, 0, 200])
def test_whatever_a_server_notes_of_a_socket_it_is_no_request(status):
    assert told(line(status=status)) == ([status], [])


def test_a_request_over_http1_beside_a_socket_of_the_same_url_stays_one():
    assert told(line(status=200), line(status=101)) == ([101], [200])
    assert told(line(status=200), line(status=404)) == ([404], [200])


def test_over_another_protocol_or_by_another_method_it_is_a_request():
    assert told(line(protocol="h2", status=404)) == ([], [404])
    assert told(line(method="POST", status=404)) == ([], [404])


def test_no_more_sockets_than_the_browser_opened():
    assert told(line(status=404), seen=()) == ([], [404])
    known = ServedSocket(
        t_us=1, host="a.test", url=URL, protocol="h1", connection=1, client_port=1, status=101
    )
    assert told(line(status=404), sockets=(known,)) == ([101], [404])


def test_a_worker_opens_a_socket_that_the_browser_does_not_report():
    page = structs.replace(made.PAGE, sockets=(PageSocket(url=URL),))
    assert told(line(status=404), seen=(), page=page) == ([404], [])
    assert told(line(status=101), seen=()) == ([101], [])


def test_a_connect_of_http2_is_one_even_without_its_path():
    connect = line(protocol="h2", method="CONNECT", url="https://a.testa.test", status=200)
    log = OriginLog(requests=(connect,), connections=(), cpu_s=None)
    (socket,) = with_sockets(log, (SEEN,), made.PAGE).sockets
    assert (socket.url, socket.protocol) == (URL, "h2")
