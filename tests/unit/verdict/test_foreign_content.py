"""Changes of the page's content that other servers may make, and changes that they may not."""

import pytest
from msgspec import structs

import made
from dragstrip.model.stack import Stack
from dragstrip.model.thresholds import DEFAULTS
from dragstrip.model.visit import Visit
from dragstrip.study.presets import find_stack
from dragstrip.verdict.content_checks import as_recorded
from dragstrip.verdict.request_checks import agreement, replay

NGINX = find_stack("nginx-h2")
UNDER_WAY = {"end_ms": None, "body_bytes": None}
GIVEN_UP = {"error": "net::ERR_ABORTED", "body_bytes": 7}


def seen(request: dict[str, object], line: dict[str, object]) -> Visit:
    """The page's last object, as the browser received it and as the server logged it."""
    base = made.visit()
    *before, last = base.requests
    last = structs.replace(last, **{"digest": "", **request})
    *sent, logged = base.served
    logged = structs.replace(logged, **line)
    return structs.replace(base, requests=(*before, last), served=(*sent, logged))


def against(visit: Visit, stack: Stack = NGINX) -> list[str]:
    page = made.PAGE
    found = (*as_recorded(visit, page, stack), *replay(visit, page, DEFAULTS))
    return [r.detail for r in found]


HONEST = {
    "coded on the fly": ({"coding": "gzip"}, {"body_bytes": 3_000}),
    "coded worse than recorded": ({"coding": "br"}, {"body_bytes": 25_000}),
    "with the framing of chunks": ({}, {"body_bytes": 20_017}),
    "coded for a browser that does not count": (
        {"coding": "gzip", "body_bytes": None},
        {"body_bytes": 3_000},
    ),
    "given up half way": (GIVEN_UP, {"body_bytes": 12_000}),
    "lost half way": ({**GIVEN_UP, "error": "net::ERR_CONNECTION_CLOSED"}, {"body_bytes": 9}),
    "given up before an answer, in nginx's log": (GIVEN_UP, {"status": 499, "body_bytes": 0}),
    "given up before an answer, in Caddy's log": (GIVEN_UP, {"status": 0, "body_bytes": 0}),
    "given up before an answer, in HAProxy's log": (GIVEN_UP, {"status": -1, "body_bytes": 0}),
    "under way at the visit's end": (UNDER_WAY, {"body_bytes": 9_000}),
    "asked for at the visit's end, in HAProxy's log": (
        {**UNDER_WAY, "protocol": None, "status": 0},
        {"status": 400, "body_bytes": 0},
    ),
    "from a cache or files of its own": ({}, {"match": "own", "digest": ""}),
}

LIES = {
    "more than there is, under way at the visit's end": (
        UNDER_WAY,
        {"body_bytes": 20_001},
        "20001 bytes of body instead of 20000 or 30000",
    ),
    "another status, under way at the visit's end": (
        {**UNDER_WAY, "status": 404},
        {"status": 404},
        "status 404 instead of 200",
    ),
    "a truncated gzip body": (
        {"coding": "gzip", "body_bytes": 12_000},
        {"body_bytes": 1_200},
        "12000 bytes of body instead of 30000",
    ),
    "a gzip body that could not be decoded": (
        {"coding": "gzip", "body_bytes": 7, "error": "net::ERR_CONTENT_DECODING_FAILED"},
        {"body_bytes": 1_200},
        "1200 bytes of body instead of 20000 or 30000",
    ),
    "another body of the same size": (
        {"coding": "gzip", "digest": "0" * 16},
        {"body_bytes": 3_000},
        "body 0000000000000000 instead of",
    ),
    "more than there is, of what was given up": (
        GIVEN_UP,
        {"body_bytes": 20_001},
        "20001 bytes of body",
    ),
    "an error page of its own": (
        {"status": 502, "body_bytes": 150},
        {"status": 502, "body_bytes": 150, "match": "own", "digest": ""},
        "status 502 instead of 200",
    ),
    "a redirect of its own": (
        {"status": 301, "body_bytes": 0},
        {"status": 301, "body_bytes": 0, "match": "own", "digest": ""},
        "status 301 instead of 200",
    ),
    "an answer that the browser received and the log denies": (
        {},
        {"status": 499, "match": "miss"},
        "1 recorded objects were not served",
    ),
    "what the page does not have": (
        {"url": "https://a.test/new"},
        {"url": "https://a.test/new", "match": "own", "digest": ""},
        "neither in the recording nor known",
    ),
}


@pytest.mark.parametrize("name", HONEST)
def test_a_correct_server_is_believed(name):
    assert against(seen(*HONEST[name])) == []


@pytest.mark.parametrize("name", LIES)
def test_a_lie_is_not(name):
    request, line, words = LIES[name]
    found = against(seen(request, line))
    assert any(words in detail for detail in found), found


@pytest.mark.parametrize("status", [408, 421, 425])
def test_a_request_may_be_asked_again_but_not_stay_without_an_answer(status):
    alone = seen({"status": status, "body_bytes": 0}, {"status": status, "body_bytes": 0})
    assert any(f"status {status} instead of 200" in detail for detail in against(alone))
    answered = made.visit()
    turned_down = structs.replace(answered.served[-1], status=status, body_bytes=0)
    both = structs.replace(answered, served=(*answered.served, turned_down))
    assert against(both) == []


def test_our_origin_sends_what_was_recorded_to_the_byte():
    """Our origin reports which body it sent, so the check allows no difference."""
    (found,) = against(seen({"coding": "gzip"}, {"body_bytes": 3_000}), made.STACKS["h2"])
    assert "3000 bytes of body instead of" in found


def test_what_was_hinted_is_content_as_well():
    request = {"from_cache": True, "hinted": True}
    assert against(seen(request, {})) == []
    (found,) = against(seen({**request, "body_bytes": 9}, {}))
    assert "9 bytes of body instead of 30000" in found


def test_an_answer_that_another_server_has_not_logged_yet_is_not_denied():
    base = seen(UNDER_WAY, {})
    unlogged = structs.replace(base, served=base.served[:-1])
    assert list(agreement(unlogged, NGINX)) == []
    (lie,) = agreement(unlogged, made.STACKS["h2"])
    assert "1 answers the origin never gave" in lie.detail
    whole = structs.replace(made.visit(), served=base.served[:-1])
    assert list(agreement(whole, NGINX))


def test_an_answer_whose_connection_died_may_be_missing_from_another_servers_log():
    """A server that does not follow a client behind a rebound NAT still sends."""
    died = {"error": "net::ERR_QUIC_PROTOCOL_ERROR.QUIC_TOO_MANY_RTOS", "body_bytes": 9_000}
    base = seen(died, {})
    unlogged = structs.replace(base, served=base.served[:-1])
    assert list(agreement(unlogged, NGINX)) == []
    (lie,) = agreement(unlogged, made.STACKS["h2"])
    assert "1 answers the origin never gave" in lie.detail
    (lie,) = agreement(structs.replace(seen({}, {}), served=base.served[:-1]), NGINX)
    assert "1 answers the origin never gave" in lie.detail
