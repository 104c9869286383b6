"""Charts of a visit's connections, from its packets: when the origin sent, and how streams shared a
connection."""

from collections.abc import Iterator, Sequence
from itertools import accumulate

from msgspec import Struct

from dragstrip.model.visit import Connection, Visit
from dragstrip.model.wire import Flow
from dragstrip.report.figures.palette import ALARM, TLS, colour, faint
from dragstrip.report.figures.vegalite import Row, Spec, figure, layer, name, number
from dragstrip.report.words.numbers import counted, duration, size
from dragstrip.results.capsule import Capsule
from dragstrip.results.dissect import by_flow, captured, dissection, packets
from dragstrip.results.packets import Packet
from dragstrip.visit.qlog import Window, read_windows

DRAWN_CONNECTIONS = 6
"""Most connections that are drawn, the largest first."""
DRAWN_STREAMS = 80

_WIDTH = 860
_SECONDS = "seconds from the navigation's start"
_WHATS = ("sent", "dropped by the link", "sent again", "reached the browser", "acknowledged")


class ConnectionPicture(Struct, frozen=True):
    title: str
    caption: str
    spec: Spec


def connection_pictures(capsule: Capsule, visit: Visit) -> list[ConnectionPicture]:
    """Return two pictures per large connection of the visit; none if its packets were not kept.

    Raises `NoTshark` if the packets were never dissected and tshark is missing.
    """
    if not captured(capsule.path, visit):
        return []
    flows = dissection(capsule.path, visit).flows
    largest = sorted(flows, key=lambda f: f.bytes_down, reverse=True)[:DRAWN_CONNECTIONS]
    mine = by_flow(packets(capsule.path, visit))
    qlog = capsule.path / "qlog" / f"{visit.file_name}.qlog"
    windows = read_windows(qlog) if qlog.exists() else {}
    made = []
    for flow in (f for f in largest if f.requests):
        connection = _connection(visit, flow)
        mine_windows = windows.get(connection.id, []) if connection else []
        made.append(sending(flow, mine[flow.id], mine_windows))
        if flow.protocol in ("h2", "h3"):
            made.append(streams(flow, mine[flow.id]))
    return made


def sending(flow: Flow, mine: Sequence[Packet], windows: Sequence[Window]) -> ConnectionPicture:
    """Draw the origin's bytes against time, above the bytes in flight and, if there is a qlog, the
    congestion window."""
    down = [p for p in mine if p.side == "down" and p.payload]
    numbers = _numbers(down)
    sent = [
        {"s": _s(p.time_ms), "kB": n / 1000, "what": what}
        for p, n, what in zip(down, numbers, _whats(down), strict=True)
    ]
    seen = [
        {"s": _s(p.left_ms), "kB": n / 1000, "what": "reached the browser"}
        for p, n in zip(down, numbers, strict=True)
        if p.left_ms is not None
    ]
    colours = [colour(flow.protocol), ALARM, "#e0a100", faint(flow.protocol), TLS]
    tint = {"domain": _WHATS, "range": colours}
    x, y = _x("s", None), number("kB", title="kB sent")
    tinted = name("what", scale=tint, title=None)
    acks = [r | {"what": "acknowledged"} for r in _acknowledged(mine)]
    # Rare events are drawn last, so that they lie on top.
    points = [*seen, *sorted(sent, key=lambda r: r["what"] != "sent")]
    looks = {"size": 12, "filled": True, "opacity": 0.9}
    dots = layer(points, "point", looks, x=x, y=y, color=tinted)
    upper = {"layer": [_line(acks, x, y, tinted), dots], "width": _WIDTH, "height": 230}
    flight = list(_told(windows))
    if not flight and flow.protocol != "h3":
        flight = list(_in_flight(mine))
    both = {
        "vconcat": [upper, *([_flight(flow, flight)] if flight else [])],
        "spacing": 8,
        "resolve": {"scale": {"x": "shared", "color": "independent"}},
    }
    return _picture(f"What the origin sent: {_name(flow)}", _sending_caption(flow), both)


def streams(flow: Flow, mine: Sequence[Packet]) -> ConnectionPicture:
    """Draw the times at which the browser could read each stream's bytes, one row per stream."""
    paths = {s: path for p in mine for s, path in zip(p.requests, p.paths, strict=False)}
    asked = {s: p.time_ms for p in reversed(mine) for s in p.requests}
    chunks = list(_chunks(mine))
    shown = sorted(asked, key=lambda s: (asked[s], s))[:DRAWN_STREAMS]
    labels = {s: _label(s, paths.get(s)) for s in shown}
    bars = [
        {"stream": labels[s], "from": _s(max(a, asked[s])), "to": _s(b), "bytes": n}
        for s, a, b, n in chunks
        if s in labels
    ]
    last = {s: b for s, _, b, _ in chunks}
    waits = [
        {"stream": labels[s], "from": _s(asked[s]), "to": _s(last.get(s, asked[s]))} for s in shown
    ]
    x, until = _x("from", _SECONDS), {"field": "to"}
    y = name("stream", sort=list(labels.values()), title=None, axis={"labelLimit": 260})
    thin = {"height": 2, "color": faint(flow.protocol)}
    tint = colour(flow.protocol)
    thick = {"color": tint, "stroke": tint, "strokeWidth": 0.7}
    chart = {
        "layer": [
            layer(waits, "bar", thin, x=x, x2=until, y=y),
            layer(bars, "bar", thick, x=x, x2=until, y=y),
        ],
        "width": _WIDTH - 260,
        "height": {"step": 13 if len(shown) < 40 else 9},
    }
    left_out = len(asked) - len(shown)
    caption = (
        "One row per stream, in the order of the requests: thin from request to last byte, thick "
        "where bytes arrived."
    )
    if flow.protocol == "h2":
        caption += " A TLS record is readable only as a whole, so h2 arrives in larger pieces."
    if left_out:
        caption += f" The first {len(shown)} of {len(asked)} streams."
    return _picture(f"Streams: {_name(flow)}", caption, chart)


def _chunks(mine: Sequence[Packet]) -> Iterator[tuple[int, float, float, int]]:
    """Yield (stream, start, end, bytes) of each piece of data at the browser. Each piece begins
    where the one before ended."""
    arriving = [(p.left_ms, p) for p in mine if p.side == "down" and p.left_ms is not None]
    since = None
    for ms, packet in sorted(arriving, key=lambda a: a[0]):
        since = ms if since is None else since
        for stream, bytes_ in zip(packet.streams, packet.stream_bytes, strict=True):
            yield stream, since, ms, bytes_
        if packet.streams:
            since = None


def _numbers(down: Sequence[Packet]) -> list[int]:
    """Return the end of each packet in the connection's bytes. With TCP, sequence numbers give it;
    with QUIC, the payload is summed up."""
    counts = accumulate(p.payload for p in down)
    return [
        count if p.seq is None else p.seq + p.payload for p, count in zip(down, counts, strict=True)
    ]


def _whats(down: Sequence[Packet]) -> Iterator[str]:
    top = 0
    for p in down:
        again = p.seq is not None and p.seq < top
        top = max(top, (p.seq or 0) + p.payload)
        yield "dropped by the link" if p.left_ms is None else "sent again" if again else "sent"


def _acknowledged(mine: Sequence[Packet]) -> Iterator[Row]:
    top = 0
    for p in sorted((p for p in mine if p.left_ms is not None), key=lambda p: p.left_ms or 0):
        if p.side == "up" and p.ack is not None and p.ack > top:
            top = p.ack
            yield {"s": _s(p.left_ms or 0), "kB": top / 1000}


def _flight(flow: Flow, rows: Sequence[Row]) -> Spec:
    kinds = list(dict.fromkeys(row["what"] for row in rows))
    tint = {"domain": kinds, "range": [colour(flow.protocol), TLS][: len(kinds)]}
    x, y = _x("s", _SECONDS), number("kB", title="kB in flight")
    drawn = _line(rows, x, y, name("what", scale=tint, title=None))
    return {**drawn, "width": _WIDTH, "height": 110}


def _in_flight(mine: Sequence[Packet]) -> Iterator[Row]:
    """Yield the bytes in flight over TCP at the origin: highest byte sent minus highest byte
    acknowledged."""
    seen = [(p.at_origin_ms, p) for p in mine if p.at_origin_ms is not None]
    sent = acknowledged = 0
    for ms, p in sorted(seen, key=lambda s: s[0]):
        if p.side == "down":
            sent = max(sent, (p.seq or 0) + p.payload)
        else:
            acknowledged = max(acknowledged, p.ack or 0)
        yield {"s": _s(ms), "kB": max(0, sent - acknowledged) / 1000, "what": "in flight"}


def _told(windows: Sequence[Window]) -> Iterator[Row]:
    """Yield rows of windows and bytes in flight from the origin's qlog."""
    for w in windows:
        for what, value in (("in flight", w.in_flight_bytes), ("window", w.window_bytes)):
            if value is not None:
                yield {"s": _s(w.time_ms), "kB": value / 1000, "what": what}


def _s(ms: float) -> float:
    return round(ms / 1000, 6)


def _x(field: str, title: str | None) -> Spec:
    scale = {"zero": False, "nice": False, "padding": 8}
    return number(field, title=title, scale=scale, axis={"tickCount": 10})


def _line(rows: Sequence[Row], x: Spec, y: Spec, tinted: Spec) -> Spec:
    looks = {"strokeWidth": 1.4, "interpolate": "step-after"}
    return layer(rows, "line", looks, x=x, y=y, color=tinted)


def _sending_caption(flow: Flow) -> str:
    said = [
        f"{counted(flow.packets_down, 'packet')} and {size(flow.bytes_down)} down",
        f"{flow.link_drops} dropped by the link",
    ]
    if flow.retransmitted is not None:
        said.append(f"{flow.retransmitted} sent again")
    if flight := flow.first_flight:
        how = "paced" if flight.paced else "in one burst"
        said.append(
            f"first flight {counted(flight.packets, 'packet')} over "
            f"{duration(flight.duration_ms)}, {how}"
        )
    if (seen := flow.unvalidated) and seen.most_times:
        said.append(
            f"before it knew the client's address the server sent {seen.most_times:.2f} times what "
            "it had received (RFC 9000 allows 3)"
        )
    source = (
        "In flight and window come from the origin's qlog."
        if flow.protocol == "h3"
        else "In flight is counted from the packets; the kernel's window is at least as large."
    )
    return f"{'; '.join(said)}. {source}"


def _connection(visit: Visit, flow: Flow) -> Connection | None:
    """Return the origin's record of the flow, found by the client's port; None if there is none."""
    port = int(flow.client.rpartition(":")[2])
    quic = flow.protocol == "h3"
    same = (c for c in visit.connections if c.client_port == port)
    return next((c for c in same if (c.protocol == "h3") == quic), None)


def _name(flow: Flow) -> str:
    return f"{flow.host or flow.server} over {flow.protocol}, port {flow.client.rpartition(':')[2]}"


def _label(stream: int, path: str | None) -> str:
    if path is None:
        return f"stream {stream}"
    return f"{stream} {path if len(path) <= 36 else chr(0x2026) + path[-35:]}"


def _picture(title: str, caption: str, chart: Spec) -> ConnectionPicture:
    return ConnectionPicture(title, caption, figure(chart, title, symbolStrokeWidth=2.5))
