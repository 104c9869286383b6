"""Checks that every request was as it should be: protocol, agreement with the origin's log,
recording."""

from collections import Counter
from collections.abc import Container, Iterable, Iterator
from urllib.parse import urldefrag, urlsplit

from dragstrip.browsers.exchanges import ABORTED
from dragstrip.model.page import Page, address
from dragstrip.model.servers import OURS
from dragstrip.model.stack import Stack
from dragstrip.model.thresholds import Thresholds
from dragstrip.model.visit import Reason, ReasonCode, Request, Served, Visit

_NAMED = 3
_BY_THE_SERVER = frozenset(
    f"net::ERR_{name}"
    for name in (
        "CONTENT_LENGTH_MISMATCH",
        "HTTP2_COMPRESSION_ERROR",
        "HTTP2_FLOW_CONTROL_ERROR",
        "HTTP2_FRAME_SIZE_ERROR",
        "HTTP2_PROTOCOL_ERROR",
        "HTTP2_RST_STREAM_NO_ERROR_RECEIVED",
        "HTTP2_SERVER_REFUSED_STREAM",
        "HTTP2_STREAM_CLOSED",
        "HTTP_1_1_REQUIRED",
        "INCOMPLETE_CHUNKED_ENCODING",
        "INVALID_HTTP_RESPONSE",
        "QUIC_GOAWAY_REQUEST_CAN_BE_RETRIED",
        "RESPONSE_HEADERS_TOO_BIG",
    )
)
"""Chromium's errors for servers that refuse a request or break the protocol. Chromium sends a
refused request again, three times at most."""
_BY_THE_NETWORK = frozenset(
    f"net::ERR_{name}"
    for name in (
        "TIMED_OUT",
        "CONNECTION_TIMED_OUT",
        "CONNECTION_CLOSED",
        "CONNECTION_RESET",
        "EMPTY_RESPONSE",
        "QUIC_PROTOCOL_ERROR",
        "QUIC_HANDSHAKE_FAILED",
        "QUIC_PROTOCOL_ERROR.QUIC_HANDSHAKE_TIMEOUT",
        "QUIC_PROTOCOL_ERROR.QUIC_NETWORK_IDLE_TIMEOUT",
        "QUIC_PROTOCOL_ERROR.QUIC_PUBLIC_RESET",
        "QUIC_PROTOCOL_ERROR.QUIC_TOO_MANY_RTOS",
        "HTTP2_PING_FAILED",
        "SPDY_PING_FAILED",
    )
) | frozenset(
    f"NS_ERROR_{name}"
    for name in (
        "NET_HTTP3_PROTOCOL_ERROR",
        "NET_HTTP2_SENT_GOAWAY",
        "NET_INTERRUPT",
        "NET_PARTIAL_TRANSFER",
        "NET_RESET",
        "NET_TIMEOUT",
        "NET_TIMEOUT_EXTERNAL",
    )
)
"""Browsers' errors for lost or late packets, and for peers that gave up."""
_BY_THE_PAGE = (
    "net::ERR_FAILED",
    "net::ERR_BLOCKED_BY_",
    "NS_ERROR_BLOCKED_BY_POLICY",
    "NS_ERROR_CONTENT_BLOCKED",
    "NS_ERROR_CORRUPTED_CONTENT",
    "NS_ERROR_DOM_",
    "NS_ERROR_FAILURE",
)
"""Browsers' errors for requests refused by cross-origin rules or by the page's policy."""


_OUTLIVES_ITS_PAGE = ("Ping", "Preflight")
"""Types of requests that go on when a page is stopped: beacons, and preflights of such."""
_OF_THE_BROWSER = ("net::", "NS_ERROR_", "SEC_ERROR_", "SSL_ERROR_", "MOZILLA_PKIX_")
"""Prefixes of error names in Chromium and Firefox."""


def is_lost(error: str) -> bool:
    """Return whether the error says that the network or a server kept an answer from the
    browser."""
    return error in _BY_THE_NETWORK or _by_the_server(error)


def _by_the_server(error: str) -> bool:
    broken = error.startswith("net::ERR_QUIC_PROTOCOL_ERROR.") and error not in _BY_THE_NETWORK
    return broken or error in _BY_THE_SERVER


def protocol(visit: Visit, page: Page, stack: Stack) -> Iterator[Reason]:
    """Yield reasons if a request did not use the stack's protocol, according to browser and origin.

    A browser that discovers QUIC by Alt-Svc begins with h2, so both protocols are valid. With
    `as-recorded`, each host must use its recorded protocol. An http:// URL uses only HTTP/1.1.
    """
    as_recorded = stack.discovery == "as-recorded"
    asked = "each host's recorded protocol" if as_recorded else stack.protocol

    def allowed(url: str) -> frozenset[str]:
        place = urlsplit(url)
        if place.scheme == "http":
            return frozenset({"h1"})
        return stack.protocols(place.hostname or "", page.spoken)

    answers: list[tuple[str, str]] = [
        (r.protocol, r.url) for r in visit.requests if r.protocol and not r.from_cache
    ]
    for who, seen in (
        ("browser", answers),
        ("origin", [(s.protocol, s.url) for s in visit.served]),
    ):
        other = [(used, url) for used, url in seen if used not in allowed(url)]
        if not other:
            continue
        counts = ", ".join(f"{n} on {used}" for used, n in Counter(u for u, _ in other).items())
        code: ReasonCode = "fallback" if len(other) == len(seen) else "mixed"
        yield Reason(
            code,
            f"the stack asks for {asked}, but the {who} saw {counts} of {len(seen)} requests: "
            + some(url for _, url in other),
        )


def agreement(visit: Visit, stack: Stack) -> Iterator[Reason]:
    """Yield reasons if the browser received other answers than the origin sent.

    Other servers log an answer when it ends. So an answer still under way at the visit's end, such
    as a stream of events, may be missing from the log, and so may one whose connection died: the
    server may still be sending it.
    """
    if "requests" in stack.untold:
        return
    served = Counter((s.method, s.url) for s in visit.served)
    received = Counter(
        (r.method, urldefrag(r.url).url)
        for r in visit.requests
        if r.protocol
        and not r.from_cache
        and (stack.server == OURS or (r.end_ms is not None and not r.error))
    )
    strangers = received - served
    if strangers:
        yield Reason(
            "stack-drift",
            f"the browser received {strangers.total()} answers the origin never gave: "
            + some(url for _, url in strangers),
        )


def replay(visit: Visit, page: Page, limits: Thresholds) -> Iterator[Reason]:
    """Yield reasons if a recorded object was not served, or if too many requests were not in the
    recording.

    On another day or in another browser, a page requests objects that its recording lacks. If the
    rehearsal requested them too, they belong to the page: every stack gets the same 404, and they
    are only listed.
    """
    recorded = {(r.method, r.url) for r in page.resources}
    misses = [s for s in visit.served if s.match == "miss" or _stranger(s, recorded)]
    lost = [s for s in misses if (s.method, s.url) in recorded]
    if lost:
        yield Reason(
            "replay-miss",
            f"{len(lost)} recorded objects were not served: " + some(s.url for s in lost),
        )
    known = set(visit.known_misses)
    new = [s for s in misses if s.address not in known and s not in lost]
    if len(new) > limits.miss_share * len(visit.served):
        yield Reason(
            "replay-miss",
            f"{len(new)} of {len(visit.served)} requests are neither in the recording nor known "
            f"from the rehearsal (limit {limits.miss_share:.0%}): " + some(s.url for s in new),
        )


def _stranger(served: Served, recorded: Container[tuple[str, str]]) -> bool:
    """Return whether the server itself answered a request that is not in the recording."""
    return served.match == "own" and (served.method, served.url) not in recorded


def unanswered(visit: Visit, page: Page, stack: Stack) -> Iterator[Reason]:
    """Give a reason against the visit if requests for recorded objects failed before they reached
    the origin: for a rejected certificate, an unknown name or a refused connection. Failures that
    the network, the page or a server under test caused give no reason, because they are part of
    what is measured. Our own origin must refuse nothing."""
    heard = {(s.method, s.url) for s in visit.served}
    heard_of = {urlsplit(s.url).hostname for s in visit.served}
    recorded = {(r.method, r.address) for r in page.resources}

    def accused(request: Request) -> bool:
        error = request.error
        if error == ABORTED:
            return stack.loaded_by.refuses_silently and request.host not in heard_of
        if _by_the_server(error):
            return stack.server == OURS
        return error.startswith(_OF_THE_BROWSER) and not (
            error in _BY_THE_NETWORK or error.startswith(_BY_THE_PAGE)
        )

    failed = [
        r
        for r in visit.requests
        if not r.protocol
        and accused(r)
        and (r.method, r.address) in recorded
        and (r.method, urldefrag(r.url).url) not in heard
    ]
    if failed:
        errors = ", ".join(f"{n} {error}" for error, n in Counter(r.error for r in failed).items())
        yield Reason(
            "replay-miss",
            f"{len(failed)} requests for recorded objects failed before they reached the origin "
            f"({errors}): " + some(r.url for r in failed),
        )


def aborted(visit: Visit, limits: Thresholds) -> Iterator[Reason]:
    """Yield reasons for aborted requests: something stopped the load before its end, such as a
    closed tab or a navigation. That cancels all open requests at once. A page cancels some of its
    own: its scripts abort a `fetch`, and players read the beginning of a film. Others go on then,
    or the page's rehearsal cancelled them too. Chromium also reports a script or style sheet with
    an error status as cancelled."""
    if visit.outcome != "loaded" and ABORTED in visit.error:
        yield Reason("aborted", f"the navigation was aborted: {visit.error}")
        return
    until_ms = float("inf") if visit.plt_ms is None else visit.plt_ms
    from_ms = _moved_ms(visit)
    dropped = [
        r.url
        for r in visit.requests
        if r.error == ABORTED
        and r.status < 400
        and r.start_ms >= from_ms
        and (r.end_ms is None or r.end_ms <= until_ms)
        and address(r.url) not in visit.known_aborts
        and not _others_went_on(visit, r)
    ]
    if len(dropped) > limits.abort_share * len(visit.requests):
        yield Reason(
            "aborted",
            f"{len(dropped)} of {len(visit.requests)} requests were aborted (limit "
            f"{limits.abort_share:.0%}): " + some(dropped),
        )


def _others_went_on(visit: Visit, aborted: Request) -> bool:
    """Return whether another request was under way when this one was aborted, and ended well."""
    return aborted.end_ms is not None and any(
        r.start_ms < aborted.end_ms < r.end_ms
        for r in visit.requests
        if r.end_ms is not None and not r.error and r.resource_type not in _OUTLIVES_ITS_PAGE
    )


def _moved_ms(visit: Visit) -> float:
    """Return when the last document to which the page navigated was answered; before all requests
    if it never navigated. Until then the page may have cancelled requests of earlier documents."""
    later = {urldefrag(url).url for url in visit.documents[1:]}
    found = (
        next((ms for ms in (r.response_start_ms, r.end_ms) if ms is not None), r.start_ms)
        for r in visit.requests
        if r.resource_type == "Document" and urldefrag(r.url).url in later
    )
    return max(found, default=float("-inf"))


def some(names: Iterable[str]) -> str:
    """Name the first few of many, and how many more there are."""
    every = list(dict.fromkeys(names))
    rest = len(every) - _NAMED
    return ", ".join(every[:_NAMED]) + (f" and {rest} more" if rest > 0 else "")
