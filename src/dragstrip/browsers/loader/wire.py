"""Defines the messages to and from `dragstrip-loader`, and translates them."""

from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct

from dragstrip.browsers.exchanges import Exchange
from dragstrip.browsers.load import Load, Navigation
from dragstrip.browsers.loader.headers import headers
from dragstrip.model.chain import group, signer
from dragstrip.model.graph import LOAD, Graph, Wait
from dragstrip.model.stack import Protocol
from dragstrip.model.visit import FastOpen, Opening, Outcome, Request
from dragstrip.pages.format.recording import Headers, header

_KINDS = {
    "Document": "document",
    "Stylesheet": "style",
    "Script": "script",
    "Image": "image",
    "Font": "font",
    "XHR": "fetch",
    "Fetch": "fetch",
    "Ping": "fetch",
    "Preflight": "fetch",
    "Media": "media",
}
_PRIORITIES = {
    "VeryHigh": "highest",
    "High": "medium",
    "Medium": "low",
    "Low": "lowest",
    "VeryLow": "idle",
}
"""Priorities in Chromium's network stack, by their CDP names."""
_VERSIONS = {"h1": "http/1.1", "h2": "h2", "h3": "h3"}
_TIGHT = 2
"""Most non-urgent requests at a time before the body begins (Blink's ResourceLoadScheduler)."""


class Error(Struct, frozen=True):
    kind: str
    message: str

    def __str__(self) -> str:
        """Chromium's name of the error if there is one, otherwise kind and message."""
        named = self.message.startswith("net::")
        return self.message if named else f"{self.kind}: {self.message}"


class LoaderRequest(Struct, frozen=True, kw_only=True):
    """A request in the load generator's answer. Times are us since the navigation's start."""

    resource: int
    url: str
    discovered_us: int
    sent_us: int | None
    first_byte_us: int | None
    end_us: int | None
    status: int | None
    protocol: Protocol | None
    connection: int | None
    headers: Headers
    wire_bytes: int
    decoded_bytes: int
    digest: str | None
    cached: bool = False
    hinted: bool = False
    error: Error | None


class LoaderConnection(Struct, frozen=True, kw_only=True):
    """A connection in the load generator's answer."""

    id: int
    address: str
    port: int
    connect_start_us: int | None
    connect_end_us: int | None
    tls_start_us: int | None
    tls_end_us: int | None
    ready_us: int | None
    issuer: str = ""
    host: str = ""
    tcp_fast_open: Opening | None = None
    key_share: int | None = None
    signature: int | None = None
    certificate_bytes: int | None = None


class LoaderAnswer(Struct, frozen=True, kw_only=True):
    start_us: int
    load_event_us: int | None
    ended: str
    requests: tuple[LoaderRequest, ...]
    connections: tuple[LoaderConnection, ...]


def page_of(graph: Graph) -> dict[str, Any]:
    """Return the graph in the load generator's format; its resources are the graph's nodes."""
    body = [w.node for w in graph.body if w.bytes is None and w.node]
    return {
        "resources": [_told(graph, index) for index in range(len(graph.nodes))],
        "load_event": {"delay_ms": graph.load_delay_ms},
        "tight": {"until": body, "limit": _TIGHT} if body else None,
    }


def _told(graph: Graph, index: int) -> dict[str, Any]:
    node = graph.nodes[index]
    told: dict[str, Any] = {
        "url": node.url,
        "method": node.method,
        "headers": headers(graph, index),
        "kind": _KINDS.get(node.kind, "other"),
        "priority": _PRIORITIES.get(node.priority, "lowest"),
        "body_bytes": node.upload_bytes,
        "delay_ms": node.delay_ms,
        "timer": node.timer,
        "load_event": node.holds_load,
        "credentials": node.credentials,
    }
    if index:
        first, others = _first(node.waits)
        told["after"] = "load_event" if first.node == LOAD else _after(first)
        told["also"] = [w.node for w in others]
    return told


def _after(wait: Wait) -> dict[str, Any]:
    at = "complete" if wait.bytes is None else {"wire": wait.bytes}
    return {"resource": wait.node, "at": at}


def _first(waits: tuple[Wait, ...]) -> tuple[Wait, list[Wait]]:
    """Return the wait to name first, and the others. The first is a wait for the load event or for
    a part of a body if there is one, else the last wait."""
    special = (w for w in waits if w.node == LOAD or w.bytes is not None)
    first = min(special, key=lambda w: w.node, default=waits[-1] if waits else Wait(0))
    return first, [w for w in waits if w is not first]


def read(answer: LoaderAnswer, graph: Graph, sent_s: float, said: str) -> Load:
    """Translate the answer to a `Load`; `said` names the graph and its source."""
    made = {a.resource: a for a in answer.requests}
    outcome, error = _outcome(answer, made.get(0))
    opened = {c.id: c for c in answer.connections}
    first_on = _first_on(answer)
    found = [
        _exchange(graph, place, asked, opened, asked.resource in first_on)
        for place, asked in sorted(made.items(), key=lambda pair: pair[1].discovered_us)
    ]
    navigation = _navigation(answer, graph, made, opened)
    return Load(
        outcome=outcome,
        error=error,
        sent_s=sent_s,
        time_origin_s=answer.start_us / 1e6,
        navigation=navigation,
        done_ms=navigation.loadEventEnd if outcome == "loaded" else None,
        exchanges=tuple(found),
        graph=said,
        fast_open=tuple(
            FastOpen(
                host=c.host, opening=c.tcp_fast_open, start_ms=(c.connect_start_us or 0) / 1000
            )
            for c in answer.connections
            if c.tcp_fast_open
        ),
    )


def _outcome(answer: LoaderAnswer, document: LoaderRequest | None) -> tuple[Outcome, str]:
    if answer.load_event_us is not None:
        return "loaded", ""
    said = str(document.error) if document and document.error else f"ended by {answer.ended}"
    return ("timeout" if answer.ended == "time" else "failed"), said


def _first_on(answer: LoaderAnswer) -> set[int]:
    """Return the numbers of resources that were the first on their connections."""
    first: dict[int, LoaderRequest] = {}
    for asked in answer.requests:
        if asked.connection is None or asked.sent_us is None:
            continue
        known = first.get(asked.connection)
        if known is None or asked.sent_us < (known.sent_us or 0):
            first[asked.connection] = asked
    return {asked.resource for asked in first.values()}


def _exchange(
    graph: Graph,
    place: int,
    asked: LoaderRequest,
    opened: dict[int, LoaderConnection],
    opens: bool,
) -> Exchange:
    node = graph.nodes[place]
    connection = opened.get(asked.connection or 0)
    shaken = connection if opens else None
    known = asked.protocol is not None and asked.status is not None
    return Exchange(
        request=Request(
            url=asked.url,
            host=urlsplit(asked.url).hostname or "",
            method=node.method,
            protocol=asked.protocol if known else None,
            status=asked.status or 0,
            mime=header(asked.headers, "content-type").partition(";")[0].strip().lower(),
            resource_type=node.kind,
            priority=node.priority,
            initiator=graph.nodes[node.initiator].url if node.initiator is not None else "",
            initiator_type={"markup": "parser", "style": "parser", "script": "script"}.get(
                node.found, "other"
            ),
            connection=asked.connection or 0,
            reused=connection is not None and not opens,
            remote_ip=connection.address if connection else "",
            remote_port=connection.port if connection else 0,
            key_share=group(connection.key_share) if connection else "",
            signed_by=signer(connection.signature) if connection else "",
            certificate_bytes=connection.certificate_bytes if connection else None,
            from_cache=asked.cached,
            hinted=asked.hinted,
            error=str(asked.error) if asked.error else "",
            wire_bytes=asked.wire_bytes,
            body_bytes=asked.decoded_bytes if known else None,
            digest=asked.digest or "",
            start_ms=asked.discovered_us / 1000,
            connect_start_ms=_ms(_either(shaken.connect_start_us, shaken.tls_start_us))
            if shaken
            else None,
            connect_end_ms=_ms(_either(shaken.tls_end_us, shaken.connect_end_us))
            if shaken
            else None,
            tls_start_ms=_ms(shaken.tls_start_us) if shaken else None,
            send_start_ms=_ms(asked.sent_us),
            send_end_ms=None if node.upload_bytes else _ms(asked.sent_us),
            response_start_ms=_ms(asked.first_byte_us),
            end_ms=_ms(asked.end_us),
        ),
        id=str(place),
        issuer=connection.issuer if connection else "",
        request_headers=tuple(headers(graph, place)),
        response_headers=asked.headers,
        http_version=_VERSIONS.get(asked.protocol or "", ""),
    )


def _navigation(
    answer: LoaderAnswer,
    graph: Graph,
    made: dict[int, LoaderRequest],
    opened: dict[int, LoaderConnection],
) -> Navigation:
    last = made.get(graph.document, made.get(0))
    if last is None:
        return Navigation()
    connection = opened.get(last.connection or 0)
    started = _either(connection.connect_start_us, connection.tls_start_us) if connection else None
    ends = [made[w.node].end_us or 0 for w in graph.parsed if w.node in made]
    parsed, fired = max(ends, default=last.end_us or 0), answer.load_event_us
    return Navigation(
        connectStart=(started or 0) / 1000,
        responseStart=_ms(last.first_byte_us),
        domContentLoadedEventEnd=0.0 if fired is None else min(parsed, fired) / 1000,
        loadEventEnd=(fired or 0) / 1000,
    )


def _either(first: int | None, second: int | None) -> int | None:
    return first if first is not None else second


def _ms(us: int | None) -> float | None:
    return None if us is None else us / 1000
