"""Requests whose early data a browser timestamps late get no send time, whatever the server
logs."""

import made
from dragstrip.browsers.exchanges import Exchange
from dragstrip.browsers.load import Load
from dragstrip.visit.server_word import without_late_stamps

FIRST, SECOND, LAST = (r.url for r in made.PAGE.resources)
REQUESTS = (
    made.request(FIRST, "h3", 0.0, connects=True),
    made.request(SECOND, "h3", 10.0),
    made.request(LAST, "h3", 300.0),
)
LOAD = Load(
    outcome="loaded",
    sent_s=0.0,
    time_origin_s=0.0,
    exchanges=tuple(Exchange(request=r) for r in REQUESTS),
)


def unstamped(*served: object, hosts: tuple[str, ...] = ()) -> list[str]:
    load = without_late_stamps(LOAD, served, hosts)
    return [e.request.url for e in load.exchanges if e.request.send_start_ms is None]


def test_what_the_log_names_early_has_no_send_time():
    assert unstamped(made.served(FIRST, "h3", early=True), made.served(LAST, "h3")) == [FIRST]


def test_without_a_word_of_the_log_all_that_began_before_the_handshake_ended_may_be_early():
    served = tuple(made.served(r.url, "h3") for r in REQUESTS)
    assert unstamped(*served) == []
    assert unstamped(*served, hosts=("a.test",)) == [FIRST, SECOND]
    assert unstamped(*served, hosts=("b.test",)) == []
