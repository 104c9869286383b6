"""Caddy's access log as evidence: what it says, and nothing it does not."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from dragstrip.model.stack import Protocol
from dragstrip.model.visit import Connection, Served
from dragstrip.testbed.errors import TestbedError

Match = Literal["exact", "query", "preflight", "miss"]

_PROTOCOLS: Mapping[str, Protocol] = {
    "HTTP/1.0": "h1",
    "HTTP/1.1": "h1",
    "HTTP/2.0": "h2",
    "HTTP/3.0": "h3",
}


class _Tls(Struct, frozen=True, kw_only=True):
    resumed: bool
    server_name: str


class _Request(Struct, frozen=True, kw_only=True):
    remote_port: str
    proto: str
    method: str
    host: str
    uri: str
    tls: _Tls


class Line(Struct, frozen=True, kw_only=True):
    """A request that ended. Source: https://caddyserver.com/docs/caddyfile/directives/log"""

    ts: float
    """When it ended, seconds of the Unix epoch."""
    duration: float
    """Seconds from the request's headers to the end of its answer."""
    status: int
    size: int
    """Bytes of the body that were handed to the transport."""
    request: _Request

    @property
    def began_us(self) -> int:
        return round((self.ts - self.duration) * 1e6)

    @property
    def host(self) -> str:
        """The name of the handshake; over QUIC Caddy knows only the request's."""
        return self.request.tls.server_name or self.request.host

    @property
    def url(self) -> str:
        return f"https://{self.request.host}{self.request.uri}"

    @property
    def protocol(self) -> Protocol:
        return _PROTOCOLS[self.request.proto]


def read_lines(log: Path) -> list[Line]:
    """Every line of the log, which is emptied. Raises `TestbedError` naming what is wrong.

    Caddy appends, so between requests a cut loses nothing.
    """
    if not log.exists():
        return []
    text = log.read_bytes()
    with log.open("r+b") as file:
        file.truncate()
    try:
        lines = [msgspec.json.decode(line, type=Line) for line in text.splitlines()]
    except msgspec.DecodeError as error:
        raise TestbedError(f"Caddy's access log says what was not expected: {error}") from None
    strange = {line.request.proto for line in lines} - set(_PROTOCOLS)
    if strange:
        raise TestbedError(f"Caddy's access log names unknown protocols: {sorted(strange)}")
    return sorted(lines, key=lambda line: line.began_us)


def requests(lines: Sequence[Line], behind: Sequence[Served]) -> tuple[Served, ...]:
    """Each line as the origin would have logged it.

    How the recording answered, and with which body, is the word of `behind`, what the origin saw of
    the same requests: it depends on method and URL alone. What Caddy answered by itself the
    recording did not answer.
    """
    matches: dict[tuple[str, str], Match] = {(s.method, s.url): s.match for s in behind}
    digests = {(s.method, s.url): s.digest for s in behind}
    return tuple(
        Served(
            t_us=line.began_us,
            end_us=round(line.ts * 1e6),
            host=line.host,
            method=line.request.method,
            url=line.url,
            protocol=line.protocol,
            connection=int(line.request.remote_port),
            client_port=int(line.request.remote_port),
            resumed=line.request.tls.resumed,
            early=False,
            status=line.status,
            body_bytes=line.size,
            match=matches.get((line.request.method, line.url), "miss"),
            digest=digests.get((line.request.method, line.url), ""),
        )
        for line in lines
    )


def connections(lines: Sequence[Line]) -> tuple[Connection, ...]:
    """Connections that carried a request, by the client's port, which also serves as their id.

    Each begins with its first request, as far as the log knows.
    """
    first: dict[tuple[str, Protocol], Line] = {}
    for line in lines:
        first.setdefault((line.request.remote_port, line.protocol), line)
    return tuple(
        Connection(
            id=int(port),
            protocol=protocol,
            host=line.host,
            client_port=int(port),
            t_us=line.began_us,
            resumed=line.request.tls.resumed,
        )
        for (port, protocol), line in first.items()
    )
