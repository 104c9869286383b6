"""The audit's figures as SVG: load time against its bound, protocol shares, connect times."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import vl_convert
from markupsafe import Markup

from dragstrip.audit.capture import Family
from dragstrip.audit.judge import AuditRow
from dragstrip.report.figures.palette import ALARM, PROTOCOL, UNKNOWN

_INK, _GRID, _SOFT = "#1d2129", "#e6e8ec", "#9aa0ab"
_FONT = "Inter, 'Helvetica Neue', Arial, sans-serif"
_WIDTH = 860
_TICKS = [m * 10.0**e for e in range(-3, 4) for m in (1, 2, 5)]
_COLOURS: dict[Family, str] = {
    "h1": PROTOCOL["h1"],
    "spdy": "#7a6aa8",
    "h2": PROTOCOL["h2"],
    "quic": PROTOCOL["h3"],
    "": UNKNOWN,
}


def bounds(rows: Sequence[AuditRow]) -> Markup | None:
    """Every capture's load time over the least its bytes allow: impossible below the diagonal."""
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
    scale = alt.Scale(type="log", domain=[low, high], nice=False)
    line = alt.Chart(alt.InlineData(values=[{"least": e, "load": e} for e in (low, high)]))
    area = alt.Chart(
        alt.InlineData(values=[{"least": e, "load": e, "floor": low} for e in (low, high)])
    )
    x = alt.X(
        "least:Q",
        scale=scale,
        title="least load time in seconds: bytes / claimed rate",
        axis=alt.Axis(values=ticks),
    )
    y = alt.Y("load:Q", scale=scale, title="load time in seconds", axis=alt.Axis(values=ticks))
    layers = (
        area.mark_area(color=ALARM, opacity=0.06).encode(x=x, y=y, y2="floor:Q"),
        line.mark_line(color=_INK, strokeWidth=1, strokeDash=[5, 4]).encode(x=x, y=y),
        alt.Chart(alt.InlineData(values=points))
        .mark_circle(size=60, opacity=0.75)
        .encode(
            x=x,
            y=y,
            color=alt.Color(
                "verdict:N",
                title=None,
                scale=alt.Scale(domain=["impossible", "possible"], range=[ALARM, _SOFT]),
            ),
        ),
    )
    return _svg(alt.layer(*layers).properties(width=_WIDTH - 60, height=340))


def shares(rows: Sequence[AuditRow]) -> Markup | None:
    """Which protocols carried the captures labelled QUIC, as bars of answers, least QUIC first."""
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
    chart = (
        alt.Chart(alt.InlineData(values=values))
        .mark_bar(height=alt.RelativeBandSize(0.7))
        .encode(
            y=alt.Y(
                "capture:N",
                sort=[r.name for r in ordered],
                title=None,
                axis=alt.Axis(labelLimit=300, ticks=False, labelFontSize=10),
            ),
            x=alt.X("share:Q", title="share of answers", axis=alt.Axis(format="%", tickCount=5)),
            order="order:Q",
            color=alt.Color(
                "protocol:N",
                title=None,
                scale=alt.Scale(
                    domain=[_label(p) for p in used], range=[_COLOURS[p] for p in used]
                ),
            ),
        )
        .properties(width=_WIDTH - 260, height=alt.Step(15))
    )
    return _svg(chart)


def connects(rows: Sequence[AuditRow]) -> Markup | None:
    """Each capture's fastest connect by claimed round trip, with the time one round trip takes."""
    points = [
        {"claim": f"{r.claims.rtt_ms:g} ms", "connect": r.connect_min_ms, "spread": _spread(i)}
        for i, r in enumerate(rows)
        if r.claims.rtt_ms is not None and r.connect_min_ms is not None
    ]
    claimed = sorted({r.claims.rtt_ms for r in rows if r.claims.rtt_ms is not None})
    if not points or not any(claimed):
        return None
    names = [f"{c:g} ms" for c in claimed]
    x = alt.X("connect:Q", title="fastest connect in ms (bar: one claimed round trip)")
    y = alt.Y("claim:N", sort=names, title="claimed round trip", axis=alt.Axis(ticks=False))
    dots = (
        alt.Chart(alt.InlineData(values=points))
        .mark_circle(size=46, opacity=0.7, color=PROTOCOL["h2"])
        .encode(x=x, y=y, yOffset=alt.YOffset("spread:Q", scale=alt.Scale(domain=[-1, 1])))
    )
    bars = (
        alt.Chart(
            alt.InlineData(
                values=[{"claim": n, "connect": c} for n, c in zip(names, claimed, strict=True)]
            )
        )
        .mark_tick(thickness=2.5, size=38, color=ALARM)
        .encode(x=x, y=y)
    )
    return _svg((dots + bars).properties(width=_WIDTH - 90, height=alt.Step(52)))


def _label(protocol: Family) -> str:
    return {"quic": "QUIC", "h2": "HTTP/2", "h1": "HTTP/1.x", "spdy": "SPDY", "": "not said"}[
        protocol
    ]


def _spread(index: int) -> float:
    return ((index * 0.618034) % 1 - 0.5) * 1.2


def _svg(chart: Any) -> Markup:
    """Drawn without a script, so the page is small, printable and needs no network."""
    styled = (
        chart.configure(font=_FONT, background="transparent")
        .configure_view(stroke=None)
        .configure_axis(
            gridColor=_GRID,
            domainColor=_SOFT,
            tickColor=_SOFT,
            labelColor=_INK,
            titleColor=_INK,
            titleFontWeight="normal",
            labelFontSize=12,
            titleFontSize=12,
        )
        .configure_legend(labelFontSize=12, orient="top")
    )
    return Markup(vl_convert.vegalite_to_svg(styled.to_json()))
