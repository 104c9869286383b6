"""What a browser sends once its visit is over is none of the visit's requests."""

from msgspec import structs

import made
from dragstrip.model.visit import Connection, Served
from dragstrip.testbed.servers.origin import OriginLog
from dragstrip.visit.afterwards import without_afterwards

URL, OVER_US = "https://a.test/x", 1_000_000
ASKED = made.visit().requests[0]


def line(t_us: int, connection: int = 1, **changes: object) -> Served:
    return structs.replace(made.served(URL, "h3"), t_us=t_us, connection=connection, **changes)


def opened(number: int, t_us: int) -> Connection:
    return structs.replace(made.visit().connections[0], id=number, t_us=t_us)


def kept(*lines: Served, asked: int = 1, connections: tuple[Connection, ...] = ()) -> OriginLog:
    log = OriginLog(requests=lines, connections=connections, cpu_s=None)
    requests = [structs.replace(ASKED, url=URL, method="GET")] * asked
    return without_afterwards(log, requests, OVER_US)


def test_a_request_that_is_sent_again_over_another_protocol_goes_with_its_connection():
    first, again = line(OVER_US - 1), line(OVER_US + 1, 2, protocol="h1")
    log = kept(first, again, connections=(opened(1, 5), opened(2, OVER_US + 1)))
    assert log.requests == (first,)
    assert [c.id for c in log.connections] == [1]


def test_a_report_that_a_closing_page_sends_goes():
    assert kept(line(OVER_US + 1, method="POST"), asked=1).requests == ()


def test_a_request_that_was_on_its_way_stays_with_its_connection():
    late = line(OVER_US + 1, 2)
    log = kept(line(OVER_US), late, asked=2, connections=(opened(2, OVER_US + 1),))
    assert log.requests[1] == late
    assert [c.id for c in log.connections] == [2]


def test_what_came_in_time_stays_whether_or_not_the_browser_tells_of_it():
    lines = line(OVER_US), line(OVER_US, method="OPTIONS")
    assert kept(*lines, asked=0, connections=(opened(3, OVER_US),)).requests == lines
