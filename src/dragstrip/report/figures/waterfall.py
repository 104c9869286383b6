"""Draws the waterfall of one visit as inline SVG: one row per request, with its phases. Requests
are grouped by connection, or by host if a connection carries one request at a time."""

from collections.abc import Iterator, Sequence
from html import escape
from urllib.parse import urlsplit

from msgspec import Struct

from dragstrip.model.network import Network
from dragstrip.model.visit import Request, Visit
from dragstrip.report.figures import palette
from dragstrip.report.figures.axis import step
from dragstrip.report.words.numbers import counted, duration, size

WIDTH, LABEL, RIGHT = 1000, 250, 24
"""Drawing units: total width, width of the column of names, and margin for the last axis label."""
AXIS, FOOT = 26, 8
_NAMED = 3
"""Most additional hosts of a connection that its heading names."""
_ROWS = ((80, 13), (160, 10), (10_000, 8))
"""Row height by the number of requests, so that a page of 244 requests still fits on three sheets
of paper."""


class Phase(Struct, frozen=True):
    name: str
    start_ms: float
    end_ms: float


def phases(request: Request, until_ms: float, *, names: bool = False) -> list[Phase]:
    """Return the phases of a request: queue, name, connect, TLS, wait and receive, in order and
    without overlap. Empty phases are left out, and so is name unless the visit looked `names` up.

    A timestamp that the browser did not give ends no phase. QUIC connects and secures a connection
    with one handshake, which browsers report as TLS. A request without an end is drawn to
    `until_ms`, the visit's end.
    """
    end = request.end_ms if request.end_ms is not None else until_ms
    connect = request.connect_start_ms
    known = request.dns_end_ms if names else None
    marks = (
        ("queue", request.dns_start_ms if known is not None else None),
        ("name", known),
        ("queue", connect if connect is not None else request.send_start_ms),
        ("connect", request.tls_start_ms if connect is not None else None),
        ("tls" if request.tls_start_ms is not None else "connect", request.connect_end_ms),
        ("queue", request.send_start_ms),
        ("wait", request.response_start_ms),
        ("receive" if request.response_start_ms is not None else "queue", end),
    )
    found, at = [], request.start_ms
    for name, mark in marks:
        if mark is not None and mark > at:
            found.append(Phase(name, at, mark))
            at = mark
    return found


def waterfall(visit: Visit, until_ms: float, network: Network | None = None) -> str:
    """Draw the waterfall of a visit as SVG. `until_ms` is the end of the time axis; pictures to
    compare should share it. Text from the page is escaped. Marks show what happened to the link, in
    words if `network` is given."""
    groups = _groups(visit)
    row = next(height for limit, height in _ROWS if len(visit.requests) <= limit)
    height = AXIS + FOOT + sum(18 + row * len(group) for group in groups)
    scale = (WIDTH - LABEL - RIGHT) / until_ms
    parts = [
        f'<svg class="waterfall" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="{escape(f"Waterfall of {visit.stack}")}">',
        *_axis(until_ms, scale, height),
        *_changes(visit, network, until_ms, scale, height),
        *_rows(groups, visit, until_ms, scale, row),
        *_events(visit, scale, height),
        "</svg>",
    ]
    return "".join(parts)


def _groups(visit: Visit) -> list[list[Request]]:
    """Group requests by connection or host. Groups, and the requests in each, are ordered by
    start."""
    found: dict[tuple[str, int], list[Request]] = {}
    for request in sorted(visit.requests, key=lambda r: r.start_ms):
        many = request.connection and request.protocol not in (None, "h1")
        shared = ("", request.connection) if many else (request.host, 0)
        found.setdefault(shared, []).append(request)
    return list(found.values())


def _rows(
    groups: Sequence[Sequence[Request]], visit: Visit, until_ms: float, scale: float, row: int
) -> Iterator[str]:
    end_ms = max([visit.plt_ms or 0, *(r.end_ms or 0 for r in visit.requests)])
    top = float(AXIS)
    for group in groups:
        hosts = list(dict.fromkeys(r.host for r in group))
        top += 18
        yield _text(4, top - 5, hosts[0], "host")
        yield _text(LABEL, top - 5, _about(group, hosts[1:]), "about")
        for request in group:
            named = request.host if request.host != hosts[0] else ""
            found = phases(request, end_ms or until_ms, names=visit.names is not None)
            yield _request(request, named, found, scale, top, row)
            top += row


def _about(group: Sequence[Request], others: Sequence[str]) -> str:
    """Write the heading of a group. `others` are hosts besides its first host."""
    used = {r.connection for r in group if r.connection}
    protocols = ", ".join(sorted({r.protocol for r in group if r.protocol})) or "no answer"
    said = [protocols, counted(len(group), "request")]
    said += [counted(len(used), "connection")] if used else []  # not every browser numbers them
    if others:
        more = f" and {len(others) - _NAMED} more" if len(others) > _NAMED else ""
        said.append(f"also {', '.join(others[:_NAMED])}{more}")
    return " \N{MIDDLE DOT} ".join([*said, size(sum(r.wire_bytes for r in group))])


def _request(
    request: Request, host: str, found: Sequence[Phase], scale: float, top: float, row: int
) -> str:
    """Draw one request with these phases as SVG. The request's host is named unless it is `host`,
    the group's first."""
    bars = "".join(_bar(p, request, scale, top, row) for p in found)
    label = _text(12, top + row - 3, _path(host, request.url, row), "path")
    failed = ""
    if request.error or request.status >= 400:
        at = LABEL + (found[-1].end_ms if found else request.start_ms) * scale
        kind, x = ("fault", at + 3) if at < WIDTH - 160 else ("fault back", at - 3)
        failed = _text(x, top + row - 3, f"\N{MULTIPLICATION X} {_fault(request)}", kind)
    size_class = "" if row > 10 else ' class="small"'
    return (
        f"<g{size_class}><title>{escape(_title(request, found))}</title>{label}{bars}{failed}</g>"
    )


def _bar(phase: Phase, request: Request, scale: float, top: float, row: int) -> str:
    fill = {
        "queue": palette.QUEUE,
        "name": palette.NAME,
        "connect": palette.CONNECT,
        "tls": palette.TLS,
        "wait": palette.faint(request.protocol),
        "receive": palette.colour(request.protocol),
    }[phase.name]
    thick = 2 if phase.name == "queue" else row - 3
    y = top + (row - thick) / 2
    x, width = LABEL + phase.start_ms * scale, max((phase.end_ms - phase.start_ms) * scale, 0.6)
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{thick}" fill="{fill}"/>'


def _fault(request: Request) -> str:
    return request.error or f"HTTP {request.status}"


def _title(request: Request, found: Sequence[Phase]) -> str:
    spans = ", ".join(f"{p.name} {duration(p.end_ms - p.start_ms)}" for p in found)
    fault = f"\n{_fault(request)}" if request.error or request.status >= 400 else ""
    return (
        f"{request.method} {request.url}\n"
        f"{request.protocol or 'no answer'}, "
        f"{f'connection {request.connection}, ' if request.connection else ''}"
        f"{size(request.wire_bytes)}, starts at {duration(request.start_ms)}\n{spans}{fault}"
    )


def _path(host: str, url: str, row: int) -> str:
    """Shorten a path to its end, which is more distinctive than its beginning."""
    parts = urlsplit(url)
    path = host + parts.path + (f"?{parts.query}" if parts.query else "")
    room = 40 if row > 10 else 52
    return path if len(path) <= room else "\N{HORIZONTAL ELLIPSIS}" + path[-room + 1 :]


def _axis(until_ms: float, scale: float, height: float) -> Iterator[str]:
    apart = step(until_ms)
    for i in range(int(until_ms // apart) + 1):
        x = LABEL + i * apart * scale
        text = f"{i * apart / 1000:g} s"
        yield f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{AXIS - 6}" y2="{height - FOOT}"/>'
        yield f'<text class="tick" x="{x:.1f}" y="{AXIS - 11}">{text}</text>'


def _changes(
    visit: Visit, network: Network | None, until_ms: float, scale: float, height: float
) -> Iterator[str]:
    """Yield a mark for each change of the link, and a band for each outage."""
    reports = visit.link.phases if visit.link else ()
    asked = network.phases if network else ()
    starts = [(report.at_us - visit.started_us) / 1000 for report in reports]
    ends = [*starts[1:], until_ms] if starts else []
    for place, (start_ms, end_ms) in enumerate(zip(starts, ends, strict=True)):
        if not place or start_ms > until_ms:
            continue
        phase = asked[place] if place < len(asked) else None
        x, width = LABEL + start_ms * scale, (min(end_ms, until_ms) - start_ms) * scale
        top, tall = AXIS - 6, height - FOOT - AXIS + 6
        said = f"the link changes ({place})"
        if network and phase and phase.step is not None:
            said = network.at[phase.step].describe()
        band = f'<rect class="outage" x="{x:.1f}" y="{top}" width="{width:.1f}" height="{tall}"/>'
        yield (
            f'<g class="change"><title>{escape(said)}</title>'
            f"{band if phase and phase.out else ''}"
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{height - FOOT}"/></g>'
        )


def _events(visit: Visit, scale: float, height: float) -> Iterator[str]:
    if visit.plt_ms is None:
        return
    x = LABEL + visit.plt_ms * scale
    yield f'<line class="load" x1="{x:.1f}" x2="{x:.1f}" y1="{AXIS - 6}" y2="{height - FOOT}"/>'
    yield (
        f'<text class="loadlabel" x="{x - 4:.1f}" y="{AXIS + 6}">load '
        f"{duration(visit.plt_ms)}</text>"
    )


def _text(x: float, y: float, text: str, kind: str) -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>'
