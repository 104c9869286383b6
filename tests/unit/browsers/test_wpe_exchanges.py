"""Events of WebKit's Web Inspector, as WPE sends them, become requests with times since
timeOrigin."""

from typing import Any

import pytest

from dragstrip.browsers.cdp import Event
from dragstrip.browsers.exchanges import ABORTED, exchanges
from dragstrip.browsers.wpe.exchanges import as_devtools
from dragstrip.model.visit import Request

ORIGIN_S = 1.0
URL = "https://a.test/x.png"
FRESH = {
    "startTime": 1.001,
    "fetchStart": 1.002,
    "domainLookupStart": 1.0,
    "domainLookupEnd": 2.0,
    "connectStart": 3.0,
    "connectEnd": 43.0,
    "secureConnectionStart": 23.0,
    "requestStart": 44.0,
    "responseStart": 64.0,
    "responseEnd": 0,
}
REUSED = FRESH | {
    "domainLookupStart": 0,
    "domainLookupEnd": 0,
    "connectStart": 0,
    "connectEnd": 0,
    "secureConnectionStart": -13352278.147,
    "requestStart": 0.1,
    "responseStart": 20.0,
}
"""WebKit 2.54 gives this negative number of a request on an open connection."""
METRICS = {
    "protocol": "h2",
    "remoteAddress": "10.9.0.2:443",
    "connectionIdentifier": "7",
    "responseHeaderBytesReceived": 46,
    "responseBodyBytesReceived": 530,
    "responseBodyDecodedSize": 500,
}


def event(method: str, at_s: float, **params: Any) -> Event:
    return Event(f"Network.{method}", {"requestId": "0.1", "timestamp": at_s, **params}, "")


def load(
    timing: dict[str, float] = FRESH, *, name: str = "0.1", source: str = "network", **metrics: Any
) -> list[Event]:
    response = {"url": URL, "status": 200, "statusText": "OK", "headers": {"Server": "x"}}
    response |= {"mimeType": "image/png", "source": source, "timing": timing}
    asked = {"url": URL, "method": "GET", "headers": {}}
    return [
        event("requestWillBeSent", 1.001, requestId=name, request=asked, type="StyleSheet"),
        event("responseReceived", 1.07, requestId=name, response=response, type="StyleSheet"),
        event("dataReceived", 1.08, requestId=name, dataLength=500, encodedDataLength=0),
        event("loadingFinished", 1.09, requestId=name, metrics=METRICS | metrics),
    ]


def requests(events: list[Event]) -> list[Request]:
    return [one.request for one in exchanges(as_devtools(events), ORIGIN_S)]


def test_a_fresh_connection_has_every_phase():
    (made,) = requests(load())
    assert made.start_ms == pytest.approx(1)
    assert (made.dns_start_ms, made.dns_end_ms) == pytest.approx((3, 4))
    assert (made.connect_start_ms, made.tls_start_ms, made.connect_end_ms) == pytest.approx(
        (5, 25, 45)
    )
    assert (made.send_start_ms, made.response_start_ms, made.end_ms) == pytest.approx((46, 66, 90))


def test_an_open_connection_has_no_handshake():
    (made,) = requests(load(REUSED))
    assert made.connect_start_ms is made.tls_start_ms is made.dns_start_ms is None
    assert made.send_start_ms == pytest.approx(2.1)


def test_the_end_of_a_request_says_how_it_travelled():
    first, second = requests([*load(), *load(REUSED, name="0.2")])
    assert (first.protocol, first.remote_ip, first.remote_port) == ("h2", "10.9.0.2", 443)
    assert (first.connection, first.reused) == (7, False)
    assert (second.connection, second.reused) == (7, True)
    assert (first.wire_bytes, first.body_bytes) == (576, 500)
    assert first.resource_type == "Stylesheet"


@pytest.mark.parametrize("source", ["memory-cache", "disk-cache"])
def test_a_cache_answers_without_the_network(source):
    (made,) = requests(load(source=source))
    assert made.from_cache


@pytest.mark.parametrize(
    ("said", "canceled", "error"),
    [
        (
            "Error resolving “a.test”: Name or service not known",
            False,
            "net::ERR_NAME_NOT_RESOLVED",
        ),
        ("Could not connect: Connection refused", False, "net::ERR_CONNECTION_REFUSED"),
        ("Unacceptable TLS certificate", False, "net::ERR_CERT_AUTHORITY_INVALID"),
        ("Load request cancelled", True, ABORTED),
        ("Something new", False, "Something new"),
    ],
)
def test_a_request_that_failed_has_an_error_and_no_protocol(said, canceled, error):
    asked, *_ = load()
    failed = event("loadingFailed", 1.2, errorText=said, canceled=canceled)
    (made,) = requests([asked, failed])
    assert (made.protocol, made.error) == (None, error)
    assert made.end_ms == pytest.approx(200)


def test_an_address_of_ipv6_loses_its_brackets():
    (made,) = requests(load(remoteAddress="[fd00::2]:443"))
    assert made.remote_ip == "fd00::2"
