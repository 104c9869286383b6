"""CDP events, as a browser sends them, become requests with times since timeOrigin."""

from typing import Any

import pytest

from dragstrip.browsers.cdp import Event
from dragstrip.browsers.exchanges import exchanges, received

ORIGIN_S = 100.0


def event(method: str, **params: Any) -> Event:
    return Event(f"Network.{method}", {"requestId": "1", **params}, "session")


def sent(url: str, at_s: float, kind: str = "Script", **more: Any) -> Event:
    request = {"url": url, "method": "GET", "headers": {"Accept": "*/*"}, "initialPriority": "High"}
    return event("requestWillBeSent", request=request, timestamp=at_s, type=kind, **more)


def response(protocol: str = "h2", **more: Any) -> dict[str, Any]:
    timing = {"requestTime": 100.05, "dnsStart": -1, "dnsEnd": -1, "connectStart": 1, "sslStart": 3}
    timing |= {"connectEnd": 6, "sendStart": 7, "sendEnd": 8, "receiveHeadersStart": 20}
    return {
        "status": 200,
        "statusText": "OK",
        "protocol": protocol,
        "mimeType": "text/javascript",
        "headers": {"Set-Cookie": "a=1\nb=2"},
        "connectionId": 7,
        "connectionReused": False,
        "remoteIPAddress": "[10.0.0.1]",
        "timing": timing,
        **more,
    }


def test_a_request_has_its_phases_since_time_origin():
    (exchange,) = exchanges(
        [
            sent("https://a.test/x.js", 100.04, initiator={"url": "https://a.test/"}),
            event("responseReceived", response=response(), timestamp=100.08),
            event("loadingFinished", timestamp=100.1, encodedDataLength=1234),
        ],
        ORIGIN_S,
    )
    request = exchange.request
    assert (request.protocol, request.status, request.wire_bytes) == ("h2", 200, 1234)
    assert request.initiator == "https://a.test/"
    assert request.start_ms == pytest.approx(40)
    assert request.dns_start_ms is None
    assert request.connect_start_ms == pytest.approx(51)
    assert request.tls_start_ms == pytest.approx(53)
    assert request.connect_end_ms == pytest.approx(56)
    assert request.send_start_ms == pytest.approx(57)
    assert request.response_start_ms == pytest.approx(70)
    assert request.end_ms == pytest.approx(100)
    assert exchange.response_headers == (("Set-Cookie", "a=1"), ("Set-Cookie", "b=2"))


def test_a_redirect_reuses_the_id_and_becomes_two_requests():
    first, second = exchanges(
        [
            sent("https://a.test/old", 100.0),
            sent(
                "https://a.test/new",
                100.2,
                redirectResponse=response(status=301, encodedDataLength=99),
            ),
            event("responseReceived", response=response("h3"), timestamp=100.3),
            event("loadingFinished", timestamp=100.4, encodedDataLength=500),
        ],
        ORIGIN_S,
    )
    assert (first.request.status, first.request.wire_bytes) == (301, 99)
    assert first.request.end_ms == pytest.approx(200)
    assert (second.request.url, second.request.protocol) == ("https://a.test/new", "h3")


def test_a_failure_keeps_its_reason_and_the_bytes_that_came():
    (exchange,) = exchanges(
        [
            sent("https://a.test/x", 100.0),
            event("responseReceived", response=response(), timestamp=100.1),
            event("dataReceived", encodedDataLength=10, dataLength=20, timestamp=100.2),
            event("dataReceived", encodedDataLength=30, dataLength=60, timestamp=100.2),
            event("loadingFailed", errorText="net::ERR_CONNECTION_RESET", timestamp=100.3),
        ],
        ORIGIN_S,
    )
    assert exchange.request.error == "net::ERR_CONNECTION_RESET"
    assert exchange.request.wire_bytes == 40
    assert exchange.request.body_bytes == 80


@pytest.mark.parametrize(
    ("from_server", "seen"),
    [({}, [200]), ({"remoteIPAddress": "10.0.0.1"}, [307, 200])],
)
def test_a_redirect_by_the_browser_itself_is_no_answer(from_server, seen):
    """The host asked for https://, or the answer for client hints."""
    internal = {"status": 307, "statusText": "Internal Redirect", "headers": {}, **from_server}
    found = exchanges(
        [
            sent("http://a.test/", 100.0, kind="Document"),
            sent("https://a.test/", 100.1, kind="Document", redirectResponse=internal),
            event("responseReceived", response=response(), timestamp=100.2),
            event("loadingFinished", encodedDataLength=80, timestamp=100.3),
        ],
        ORIGIN_S,
    )
    assert [e.request.status for e in found] == seen
    assert found[-1].request.url == "https://a.test/"


def test_the_bytes_of_an_error_page_did_not_come_from_the_network():
    """Chromium reports them under the id of the frame's request."""
    (exchange,) = exchanges(
        [
            sent("https://gone.test/", 100.0, kind="Document"),
            event("loadingFailed", errorText="net::ERR_NAME_NOT_RESOLVED", timestamp=100.1),
            event("dataReceived", encodedDataLength=0, dataLength=252_118, timestamp=100.2),
            event("loadingFinished", encodedDataLength=252_118, timestamp=100.3),
        ],
        ORIGIN_S,
    )
    assert exchange.request.error == "net::ERR_NAME_NOT_RESOLVED"
    assert (exchange.request.wire_bytes, exchange.request.body_bytes) == (0, None)
    assert exchange.request.end_ms == pytest.approx(100)


@pytest.mark.parametrize(
    ("said", "wire", "body"),
    [
        ((0, 65_536), 113, None),
        ((40_000, 65_536), 40_113, None),
        ((65_536, 65_649), 65_649, 65_536),
        ((65_423, 65_536), 65_536, 65_536),  # a content coding saves as much as the header takes
    ],
)
def test_an_image_that_chromium_gives_up_has_the_size_that_was_counted(said, wire, body):
    counted, finished = said
    (exchange,) = exchanges(
        [
            sent("https://a.test/", 100.0, "Image"),
            event("responseReceived", response=response(encodedDataLength=113), timestamp=100.1),
            event("dataReceived", encodedDataLength=counted, dataLength=65_536, timestamp=100.2),
            event("loadingFinished", encodedDataLength=finished, timestamp=100.3),
        ],
        ORIGIN_S,
    )
    assert (exchange.request.wire_bytes, exchange.request.body_bytes) == (wire, body)
    assert exchange.request.error == ""


def test_an_answer_from_the_cache_is_known_as_such():
    (exchange,) = exchanges(
        [
            sent("https://a.test/x", 100.0),
            event("requestServedFromCache"),
            event("responseReceived", response=response(), timestamp=100.1),
        ],
        ORIGIN_S,
    )
    assert exchange.request.from_cache


@pytest.mark.parametrize(
    ("connection", "size", "cached"), [(0, 0, True), (7, 0, False), (0, 9, False)]
)
def test_what_came_over_no_connection_came_from_the_cache(connection, size, cached):
    (exchange,) = exchanges(
        [
            sent("https://a.test/x.js", 100.0),
            event("responseReceived", response=response(connectionId=connection), timestamp=100.1),
            event("loadingFinished", timestamp=100.2, encodedDataLength=size),
        ],
        ORIGIN_S,
    )
    assert exchange.request.from_cache == cached


def test_what_is_not_on_the_network_is_no_request():
    assert exchanges([sent("data:image/png;base64,AAAA", 100.0)], ORIGIN_S) == ()
    assert exchanges([event("loadingFinished", timestamp=1.0, encodedDataLength=1)], ORIGIN_S) == ()


def test_what_a_103_answer_names_is_hinted():
    links = "</style.css>; rel=preload; as=style, <https://cdn.test/a.js>; as=script; rel=preload"
    links += "\n<https://font.test>; rel=preconnect, </m.js>; rel=modulepreload"
    document = [
        sent("https://a.test/", 100.01, "Document"),
        event("responseReceivedEarlyHints", headers={"link": links.replace("\n", ", ")}),
    ]
    urls = ("https://a.test/style.css", "https://cdn.test/a.js", "https://a.test/m.js")
    others = ("https://font.test/", "https://a.test/other.js")
    later = [
        Event("Network.requestWillBeSent", {**sent(url, 100.3).params, "requestId": url}, "session")
        for url in (*urls, *others)
    ]
    made = exchanges([*document, *later], ORIGIN_S)
    found = {e.request.url: e.request.hinted for e in made}
    assert found == {"https://a.test/": False} | dict.fromkeys(urls, True) | dict.fromkeys(
        others, False
    )


@pytest.mark.parametrize(
    ("headers", "coding"),
    [({"Content-Encoding": "GZIP"}, "gzip"), ({"content-encoding": "identity"}, ""), ({}, "")],
)
def test_an_answer_has_the_coding_that_came_with_it(headers, coding):
    (exchange,) = exchanges(
        [
            sent("https://a.test/x.js", 100.04),
            event("responseReceived", response=response(headers=headers), timestamp=100.08),
        ],
        ORIGIN_S,
    )
    assert received(exchange).coding == coding


@pytest.mark.parametrize(
    ("method", "status", "error"),
    [("GET", 204, ""), ("DELETE", 205, ""), ("HEAD", 200, ""), ("GET", 200, "net::ERR_ABORTED")],
)
def test_an_answer_without_a_body_came_whole(method, status, error):
    """Chromium cancels the reading of the body that there is not."""
    asked = sent("https://a.test/x", 100.04, "Fetch")
    asked.params["request"]["method"] = method
    (exchange,) = exchanges(
        [
            asked,
            event("responseReceived", response=response(status=status, encodedDataLength=80)),
            event("loadingFailed", timestamp=100.1, errorText="net::ERR_ABORTED", canceled=True),
        ],
        ORIGIN_S,
    )
    assert exchange.request.error == error
    assert exchange.request.end_ms == pytest.approx(100)
    assert exchange.request.wire_bytes == (0 if error else 80)


def test_a_request_that_was_aborted_before_its_answer_failed():
    asked = sent("https://a.test/x", 100.04, "Fetch")
    asked.params["request"]["method"] = "HEAD"
    failed = event("loadingFailed", timestamp=100.1, errorText="net::ERR_ABORTED", canceled=True)
    (exchange,) = exchanges([asked, failed], ORIGIN_S)
    assert exchange.request.error == "net::ERR_ABORTED"
