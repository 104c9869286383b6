"""A connection carries what its address and its certificate allow, and nothing else."""

import pytest
from msgspec import structs

import made
from dragstrip.study.presets import find_stack
from dragstrip.verdict.content_checks import as_recorded
from dragstrip.verdict.server_checks import coalesced, laid_out
from made_servers import page_of, visit

A, B, C = "a.test", "b.test", "c.test"
PAGE = page_of({A: "192.0.2.1", B: "192.0.2.1", C: "192.0.2.2"})
SHARED = {A: "10.64.1.1", B: "10.64.1.1", C: "10.64.1.2"}
ALONE = {A: "10.64.1.1", B: "10.64.1.2", C: "10.64.1.3"}
OWN = {A: A, B: B, C: C}


def told(over, page=PAGE, addresses="recorded", protocol="h2", stack="h2"):
    seen = visit(SHARED, over, protocol)
    return [r.detail for r in coalesced(seen, page, find_stack(stack), addresses)]


@pytest.mark.parametrize("protocol", ["h2", "h3"])
@pytest.mark.parametrize("over", [OWN, {A: A, B: A, C: C}, {A: B, B: B, C: C}], ids=str)
def test_hosts_of_an_address_may_share_a_connection_and_need_not(protocol, over):
    assert told(over, protocol=protocol) == []


@pytest.mark.parametrize("protocol", ["h2", "h3"])
def test_a_host_of_another_address_is_a_lie(protocol):
    by_server, by_browser = told({A: A, B: A, C: A}, protocol=protocol)
    assert "1 requests" in by_server
    assert "according to the server" in by_server
    assert "https://c.test/" in by_server
    assert "https://b.test/" not in by_server
    assert "according to the browser" in by_browser


def test_a_certificate_that_does_not_cover_the_host_is_a_lie():
    """A's certificate covers B, but B's does not cover A, according to the recording."""
    page = structs.replace(PAGE, certificates={A: (A, B), B: (B,)})
    assert told({A: A, B: A, C: C}, page) == []
    (by_server,) = told({A: B, B: B, C: C}, page)  # the browser names no host of a connection
    assert "https://a.test/ over a connection to b.test" in by_server
    apart = structs.replace(PAGE, certificates={A: (A,), B: (B,)})
    assert len(told({A: A, B: A, C: C}, apart)) == 2


def test_hosts_that_have_one_address_each_share_nothing():
    assert len(told({A: A, B: A, C: C}, addresses="one-each")) == 2


def test_http1_never_shares_a_connection():
    assert told(OWN, protocol="h1") == []
    assert len(told({A: A, B: A, C: C}, protocol="h1")) == 2


def test_a_log_of_requests_alone_does_not_tell_whom_a_connection_was_opened_for():
    """Such a log names a connection after its first request, which may be another host's."""
    page = structs.replace(PAGE, certificates={A: (A, B), B: (B,)})
    assert told({A: B, B: B, C: C}, page, stack="nginx-h2") == []
    assert len(told({A: A, B: A, C: A}, page, stack="nginx-h2")) == 2


def test_a_live_page_is_not_judged():
    live = structs.replace(visit(SHARED, {A: A, B: A, C: A}), addresses={})
    assert list(coalesced(live, PAGE, find_stack("h2"), "recorded")) == []


def test_what_was_answered_421_counts_where_it_was_sent_again():
    honest = visit(SHARED, OWN)
    last = honest.served[2]
    refused = structs.replace(last, connection=1, status=421, match="misdirected", body_bytes=0)
    again = structs.replace(honest, served=(*honest.served[:2], refused, last))
    stack = find_stack("h2")
    assert list(coalesced(again, PAGE, stack, "recorded")) == []
    assert list(as_recorded(again, PAGE, stack)) == []
    final = structs.replace(honest.requests[2], status=421, connection=1)
    given_up = structs.replace(
        again, served=again.served[:3], requests=(*honest.requests[:2], final)
    )
    (said,) = as_recorded(given_up, PAGE, stack)
    assert "https://c.test/ (status 421 instead of 200)" in said.detail


def test_hosts_have_the_addresses_that_the_study_asks_for():
    as_asked = visit(SHARED, OWN)
    assert list(laid_out(as_asked, PAGE, "recorded")) == []
    assert list(laid_out(visit(ALONE, OWN), PAGE, "one-each")) == []
    (apart,) = laid_out(visit(ALONE, OWN), PAGE, "recorded")
    assert "a.test and b.test should share one" in apart.detail
    (together,) = laid_out(as_asked, PAGE, "one-each")
    assert "a.test and b.test should not share one" in together.detail
    assert list(laid_out(made.visit(), made.PAGE, "recorded")) == []
