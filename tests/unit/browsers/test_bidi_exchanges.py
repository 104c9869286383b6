"""Events of WebDriver BiDi, as Firefox sends them, become requests with times since timeOrigin."""

from typing import Any

from dragstrip.browsers.cdp import Event
from dragstrip.browsers.exchanges import ABORTED
from dragstrip.browsers.firefox.exchanges import exchanges

ORIGIN_MS = 1_000_000.0
URL = "https://a.test/x.png"
TIMES = (
    "requestTime",
    "dnsStart",
    "dnsEnd",
    "connectStart",
    "tlsStart",
    "connectEnd",
    "requestStart",
    "responseStart",
    "responseEnd",
)


def event(method: str, *times: float, url: str = URL, count: int = 0, **more: Any) -> Event:
    """An event of BiDi. `times` are ms since timeOrigin in the order of TIMES; 0 stands for a phase
    that did not happen."""
    told = dict.fromkeys(TIMES, 0.0) | {
        name: ORIGIN_MS + at for name, at in zip(TIMES, times, strict=False) if at
    }
    header = {"name": "Priority", "value": {"type": "string", "value": "u=5, i"}}
    request = {
        "request": "7-0",
        "url": url,
        "method": "GET",
        "headers": [header],
        "destination": "image",
        "initiatorType": "img",
        "timings": told,
    }
    params = {"request": request, "redirectCount": count, "timestamp": ORIGIN_MS + 99, **more}
    return Event(f"network.{method}", params, "")


def response(protocol: str = "h3", **more: Any) -> dict[str, Any]:
    told = {"protocol": protocol, "status": 200, "statusText": "OK", "fromCache": False}
    coding = {"name": "Content-Encoding", "value": {"type": "string", "value": "identity"}}
    return told | {"mimeType": "image/png", "bodySize": 500, "headers": [coding]} | more


FRESH = (1, 2, 3, 4, 5, 20, 21, 40, 50)
REUSED = (1, 2, 2, 4, 0, 4, 5, 40, 50)


def load(*times: float, url: str = URL, **answer: Any) -> list[Event]:
    return [
        event("beforeRequestSent", *times[:1], url=url),
        event("responseStarted", *times, url=url, response=response(**answer)),
        event("responseCompleted", *times, url=url, response=response(**answer)),
    ]


def test_a_request_has_its_phases_since_time_origin():
    (exchange,) = exchanges(load(*FRESH), ORIGIN_MS)
    r = exchange.request
    assert (r.start_ms, r.dns_start_ms, r.connect_start_ms, r.tls_start_ms) == (1, 2, 4, 5)
    assert (r.connect_end_ms, r.send_start_ms, r.response_start_ms, r.end_ms) == (20, 21, 40, 50)
    assert (r.protocol, r.status, r.resource_type, r.priority) == ("h3", 200, "Image", "u=5, i")
    assert (r.wire_bytes, r.body_bytes) == (500, 500)
    assert (r.connection, r.remote_ip) == (0, "")


def test_a_request_on_an_open_connection_has_no_handshake():
    (exchange,) = exchanges(load(*REUSED), ORIGIN_MS)
    r = exchange.request
    assert (r.dns_start_ms, r.connect_start_ms, r.tls_start_ms) == (None, None, None)
    assert r.send_start_ms == 5


def test_over_http1_and_tls_the_first_byte_is_not_known():
    (over_tls,) = exchanges(load(*FRESH, protocol="http/1.1"), ORIGIN_MS)
    (plain,) = exchanges(load(*FRESH, protocol="http/1.1", url="http://a.test/"), ORIGIN_MS)
    assert (over_tls.request.protocol, over_tls.request.response_start_ms) == ("h1", None)
    assert plain.request.response_start_ms == 40


def test_the_size_of_what_crossed_in_a_coding_is_not_known():
    coded = [{"name": "content-encoding", "value": {"type": "string", "value": "br"}}]
    (exchange,) = exchanges(load(*FRESH, headers=coded), ORIGIN_MS)
    assert (exchange.request.wire_bytes, exchange.request.body_bytes) == (500, None)


def test_a_redirect_and_what_follows_are_two_requests():
    first = event("responseCompleted", *FRESH, response=response(status=302))
    events = [event("beforeRequestSent", 1), first]
    events += [event("beforeRequestSent", 51, url="https://a.test/y.png", count=1)]
    found = [(e.request.url, e.request.status) for e in exchanges(events, ORIGIN_MS)]
    assert found == [(URL, 302), ("https://a.test/y.png", 0)]


def test_what_was_given_up_is_called_as_everywhere_and_other_errors_by_firefoxes_names():
    given_up = event("fetchError", 1, errorText="NS_BINDING_ABORTED")
    reset = event("fetchError", 1, errorText="NS_ERROR_NET_RESET")
    for failed, error in ((given_up, ABORTED), (reset, "NS_ERROR_NET_RESET")):
        (exchange,) = exchanges([event("beforeRequestSent", 1), failed], ORIGIN_MS)
        assert (exchange.request.error, exchange.request.end_ms) == (error, 99)
        assert exchange.request.protocol is None


def test_a_frames_answer_without_a_body_came_whole():
    """Firefox gives it up and keeps the frame's old document."""
    given_up = event("fetchError", 1, errorText="NS_BINDING_ABORTED")
    for status, error in ((204, ""), (200, ABORTED)):
        answered = event("responseStarted", *FRESH, response=response(status=status))
        events = [event("beforeRequestSent", 1), answered, given_up]
        (exchange,) = exchanges(events, ORIGIN_MS)
        assert (exchange.request.error, exchange.request.status) == (error, status)


def test_a_cached_image_of_an_upgraded_address_is_the_one_that_was_loaded():
    plain = URL.replace("https:", "http:")
    cached = {"url": plain, "fromCache": True, "protocol": "http/1.1"}
    (again,) = exchanges(load(*FRESH[:1], **cached), ORIGIN_MS)
    assert again.request.url == plain
    later = load(*FRESH[:1], **cached)
    for one in later:
        one.params["request"]["request"] = "8-0"
    found = exchanges([*load(*FRESH), *later], ORIGIN_MS)
    assert [(e.request.url, e.request.protocol) for e in found] == [(URL, "h3"), (URL, "h3")]
    assert (found[1].request.wire_bytes, found[1].request.end_ms) == (0, 99)


def test_what_is_no_http_is_left_out():
    assert exchanges([event("beforeRequestSent", 1, url="data:image/png,a")], ORIGIN_MS) == ()
