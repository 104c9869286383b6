"""Reads another server's access log as evidence. Facts that the log does not contain stay
unknown."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec
from msgspec import Struct, structs

from dragstrip.model.servers import LOGGED_PROTOCOLS, AccessLog
from dragstrip.model.stack import Protocol
from dragstrip.model.visit import Connection, Served
from dragstrip.testbed.errors import TestbedError

_TOO_COARSE_MS = 1.0
"""Resolution in ms: a log with a coarser resolution does not show when a request began."""


class AccessLine(Struct, frozen=True, kw_only=True):
    """A line of the log: a request that has ended."""

    began_us: int
    """Start of the request in us of the Unix epoch, as for `ended_us`."""
    ended_us: int
    port: int
    """The client's port."""
    protocol: Protocol
    method: str
    host: str
    path: str
    status: int
    size: int | None
    """Bytes of the body that were handed to the transport; None if the log does not say."""
    resumed: bool = False
    ech: bool | None = None

    @property
    def url(self) -> str:
        return f"https://{self.host}{self.path}"


def read_lines(file: Path, form: AccessLog, behind: Sequence[Served] = ()) -> list[AccessLine]:
    """Read all lines, sorted by start, and empty the log. Raises `TestbedError`, which names the
    wrong line and field.

    Servers append to the log, so emptying it between requests loses no line. If the log's times are
    too coarse, only the durations of requests are used. Their starts are then taken from `behind`,
    the origin's log.
    """
    if not file.exists():
        return []
    text = file.read_bytes()
    with file.open("r+b") as whole:
        whole.truncate()
    lines = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() not in (b"", b"{}"):
            lines.append(_line(line, form, f"{file.name}, line {number}"))
    if form.grain_ms > _TOO_COARSE_MS:
        asked = {(s.method, s.url): s.t_us for s in behind}
        lines = [_begun(line, asked.get((line.method, line.url))) for line in lines]
    return sorted(lines, key=lambda line: line.began_us)


def _begun(line: AccessLine, began_us: int | None) -> AccessLine:
    """Return the line moved to this start; unchanged if the origin did not get the request."""
    if began_us is None:
        return line
    ended_us = began_us + line.ended_us - line.began_us
    return structs.replace(line, began_us=began_us, ended_us=ended_us)


def _line(text: bytes, form: AccessLog, where: str) -> AccessLine:
    try:
        said = msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise TestbedError(
            f"unexpected line in the server's access log: {where}: {error}"
        ) from None

    def told(name: str, otherwise: Any = None) -> Any:
        for key in form.fields[name].split("|"):
            value: Any = said
            for step in key.split("."):
                value = value.get(step) if isinstance(value, Mapping) else None
            if value not in (None, "", "-"):
                return value
        if otherwise is not None:
            return otherwise
        raise TestbedError(
            f"unexpected line in the server's access log: {where}: no {name} ({form.fields[name]})"
        )

    protocol = {**LOGGED_PROTOCOLS, **form.protocols}.get(told("protocol"), "")
    if protocol not in get_args(Protocol):
        raise TestbedError(
            f"the server's access log names an unknown protocol: {where}: {told('protocol')!r}"
        )
    moment = "began" if "began" in form.fields else "ended"
    try:
        at_us, took_us = (
            round(_seconds(told(name)) * form.seconds.get(name, 1.0) * 1e6)
            for name in (moment, "took")
        )
        began_us = at_us if moment == "began" else at_us - took_us
        return AccessLine(
            began_us=began_us,
            ended_us=began_us + took_us,
            port=int(told("port")),
            protocol=protocol,  # type: ignore[arg-type]
            method=told("method"),
            host=told("host").partition(":")[0],
            path=told("path"),
            status=int(told("status", 0)),  # empty, or 000, if the client gave up before an answer
            size=int(told("bytes")) if "bytes" in form.fields else None,
            resumed="resumed" in form.fields and _said(said, form),
            ech=bool(told("ech", otherwise=False)) if "ech" in form.fields else None,
        )
    except (TypeError, ValueError) as error:
        raise TestbedError(
            f"unexpected line in the server's access log: {where}: {error}"
        ) from None


def _seconds(value: Any) -> float:
    """Parse a number, or a date and time in ISO 8601, as a number of seconds. Raises
    `ValueError`."""
    if isinstance(value, str) and "T" in value:
        return datetime.fromisoformat(value).timestamp()
    return float(value)


def _said(said: Mapping[str, Any], form: AccessLog) -> bool:
    value: Any = said
    for step in form.fields["resumed"].split("."):
        value = value.get(step) if isinstance(value, Mapping) else None
    return value in form.resumed


def requests(lines: Sequence[AccessLine], behind: Sequence[Served]) -> tuple[Served, ...]:
    """Return each line in the form of the origin's log.

    `behind` is the origin's log of the same requests. It says how the recording answered and with
    which body: both depend only on method and URL. Requests that the server answered by itself,
    from files or its cache, are in the server's log only.
    """
    origins = {(s.method, s.url): s for s in behind}

    def served(line: AccessLine) -> Served:
        asked = origins.get((line.method, line.url))
        given = asked.body_bytes if asked else 0
        return Served(
            t_us=line.began_us,
            received_us=asked.received_us if asked else None,
            received_bytes=asked.received_bytes if asked else None,
            end_us=line.ended_us,
            host=line.host,
            method=line.method,
            url=line.url,
            protocol=line.protocol,
            connection=line.port,
            client_port=line.port,
            resumed=line.resumed,
            early=False,
            status=line.status,
            body_bytes=given if line.size is None else line.size,
            match=asked.match if asked else _own(line),
            digest=asked.digest if asked else "",
        )

    return tuple(served(line) for line in lines)


def _own(line: AccessLine) -> Literal["preflight", "own"]:
    return "preflight" if line.method == "OPTIONS" else "own"


def connections(lines: Sequence[AccessLine]) -> tuple[Connection, ...]:
    """Return the connections that carried a request, by the client's port, which also serves as
    their id.

    A connection's start is that of its first request, because the log has no earlier time.
    """
    first: dict[tuple[int, Protocol], AccessLine] = {}
    for line in lines:
        first.setdefault((line.port, line.protocol), line)
    return tuple(
        Connection(
            id=port,
            protocol=protocol,
            host=line.host,
            client_port=port,
            t_us=line.began_us,
            resumed=line.resumed,
            ech=line.ech,
        )
        for (port, protocol), line in first.items()
    )
