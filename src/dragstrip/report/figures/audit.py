"""Vega-Lite figures of an audit: load times against their lower bounds, protocol shares, connect
times."""

from collections.abc import Sequence

from dragstrip.audit.dialects import Family
from dragstrip.audit.judge import AuditRow
from dragstrip.report.figures.palette import ALARM, PROTOCOL, UNKNOWN
from dragstrip.report.figures.vegalite import INK, SOFT, Spec, figure, layer, name, number

_WIDTH = 860
_TICKS = [m * 10.0**e for e in range(-3, 4) for m in (1, 2, 5)]
_COLOURS: dict[Family, str] = {
    "h1": PROTOCOL["h1"],
    "spdy": "#7a6aa8",
    "h2": PROTOCOL["h2"],
    "quic": PROTOCOL["h3"],
    "": UNKNOWN,
}


def bounds(rows: Sequence[AuditRow]) -> Spec | None:
    """Make a chart of every capture's load time over the least time that its bytes allow. Points
    below the diagonal are impossible. None if no capture has both."""
    points = [
        {
            "least": r.least_load_ms / 1000,
            "load": r.load_ms / 1000,
            "verdict": "impossible" if r.impossible else "possible",
        }
        for r in rows
        if r.least_load_ms and r.load_ms
    ]
    if not points:
        return None
    edges = [e for r in rows if (e := r.least_load_ms) and r.load_ms]
    edges += [e for r in rows if r.least_load_ms and (e := r.load_ms)]
    low, high = min(edges) / 1000 * 0.8, max(edges) / 1000 * 1.25
    ticks = [t for t in _TICKS if low <= t <= high]
    scale = {"type": "log", "domain": [low, high], "nice": False}
    x = number(
        "least",
        scale=scale,
        title="least load time in seconds: bytes / claimed rate",
        axis={"values": ticks},
    )
    y = number("load", scale=scale, title="load time in seconds", axis={"values": ticks})
    ends = [{"least": e, "load": e, "floor": low} for e in (low, high)]
    tint = {"domain": ["impossible", "possible"], "range": [ALARM, SOFT]}
    layers = [
        layer(ends, "area", {"color": ALARM, "opacity": 0.06}, x=x, y=y, y2={"field": "floor"}),
        layer(ends, "line", {"color": INK, "strokeWidth": 1, "strokeDash": [5, 4]}, x=x, y=y),
        layer(
            points,
            "circle",
            {"size": 60, "opacity": 0.75},
            x=x,
            y=y,
            color=name("verdict", title=None, scale=tint),
        ),
    ]
    said = "Load time of each capture over the least time that its bytes need"
    return figure({"layer": layers, "width": _WIDTH - 60, "height": 340}, said)


def shares(rows: Sequence[AuditRow]) -> Spec | None:
    """Make a chart of the protocols of captures labelled QUIC, as bars of answers. Captures with
    the least QUIC come first. None without such captures."""
    labelled = [r for r in rows if r.claims.protocol == "quic" and r.protocol_answers]
    if not labelled:
        return None
    ordered = sorted(labelled, key=lambda r: (r.claimed_share or 0, r.name))
    values = [
        {
            "capture": r.name,
            "protocol": _label(p),
            "share": n / sum(r.protocol_answers.values()),
            "order": 0 if p == "quic" else 1,
        }
        for r in ordered
        for p, n in r.protocol_answers.items()
    ]
    used = sorted({p for r in labelled for p in r.protocol_answers}, reverse=True)
    labels = {"labelLimit": 300, "ticks": False, "labelFontSize": 10}
    tint = {"domain": [_label(p) for p in used], "range": [_COLOURS[p] for p in used]}
    bars = layer(
        values,
        "bar",
        {"height": {"band": 0.7}},
        y=name("capture", sort=[r.name for r in ordered], title=None, axis=labels),
        x=number("share", title="share of answers", axis={"format": "%", "tickCount": 5}),
        order=number("order"),
        color=name("protocol", title=None, scale=tint),
    )
    said = "Protocols of the answers of each capture labelled QUIC"
    return figure({**bars, "width": _WIDTH - 260, "height": {"step": 15}}, said)


def connects(rows: Sequence[AuditRow]) -> Spec | None:
    """Make a chart of each capture's fastest connect in ms, grouped by the round trip that it
    claims, with a line at that round trip. None if no capture has both."""
    points = [
        {"claim": f"{r.claims.rtt_ms:g} ms", "connect": r.connect_min_ms, "spread": _spread(i)}
        for i, r in enumerate(rows)
        if r.claims.rtt_ms is not None and r.connect_min_ms is not None
    ]
    claimed = sorted({r.claims.rtt_ms for r in rows if r.claims.rtt_ms is not None})
    if not points or not any(claimed):
        return None
    names = [f"{c:g} ms" for c in claimed]
    x = number("connect", title="fastest connect in ms (bar: one claimed round trip)")
    y = name("claim", sort=names, title="claimed round trip", axis={"ticks": False})
    dots = layer(
        points,
        "circle",
        {"size": 46, "opacity": 0.7, "color": PROTOCOL["h2"]},
        x=x,
        y=y,
        yOffset=number("spread", scale={"domain": [-1, 1]}),
    )
    one_each = [{"claim": n, "connect": c} for n, c in zip(names, claimed, strict=True)]
    bars = layer(one_each, "tick", {"thickness": 2.5, "size": 38, "color": ALARM}, x=x, y=y)
    said = "Time of the fastest new connection of each capture, and the round trip it claims"
    return figure({"layer": [dots, bars], "width": _WIDTH - 90, "height": {"step": 52}}, said)


def _label(protocol: Family) -> str:
    return {"quic": "QUIC", "h2": "HTTP/2", "h1": "HTTP/1.x", "spdy": "SPDY", "": "not said"}[
        protocol
    ]


def _spread(index: int) -> float:
    return ((index * 0.618034) % 1 - 0.5) * 1.2
