"""The figure of scheduling.md, and what it is drawn from."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import altair as alt
from msgspec import Struct
from PIL import Image

COLOURS = {"ours": "#d1495b", "nginx": "#00798c", "haproxy": "#edae49", "caddy-today": "#66a182"}


class Row(Struct, frozen=True, kw_only=True):
    """One load. `ends_ms` are those of the watched answers, by path, after the first request of
    them; empty if the visit was not valid."""

    pattern: str
    words: str
    mbps: float
    stack: str
    ends_ms: Mapping[str, float]


def draw(rows: Sequence[Row], path: Path) -> None:
    """A panel for each pattern, a row in it for each rate: every watched answer's end."""
    names = list(dict.fromkeys(row.words for row in rows))
    panels = [panel(name, [row for row in rows if row.words == name]) for name in names]
    alt.vconcat(*panels).configure_view(strokeWidth=0).save(path, ppi=110)
    with Image.open(path) as drawn:  # as SVG it has 2 MB
        few = drawn.convert("RGB").quantize(48)
    few.save(path, optimize=True)


def panel(words: str, rows: Sequence[Row]) -> alt.HConcatChart:
    rates = sorted({row.mbps for row in rows})
    charts = [chart(rate, list(points(rows, rate))) for rate in rates]
    return alt.hconcat(*charts, title=alt.Title(words, anchor="start"))


def chart(rate: float, ends: list[dict[str, Any]]) -> alt.Chart:
    return (
        alt.Chart(alt.Data(values=ends), title=f"{rate:g} Mbit/s")
        .mark_tick(thickness=1.5, opacity=0.7)
        .encode(
            x=alt.X("ms:Q", title="ms after the first request"),
            y=alt.Y("protocol:N", title=None, sort=["h2", "h3"]),
            row=alt.Row(
                "server:N",
                title=None,
                sort=list(COLOURS),
                spacing=2,
                header=alt.Header(labelAngle=0, labelAlign="left"),
            ),
            color=alt.Color(
                "server:N",
                legend=None,
                scale=alt.Scale(domain=list(COLOURS), range=list(COLOURS.values())),
            ),
        )
        .properties(width=190, height=30)
    )


def points(rows: Sequence[Row], rate: float) -> Iterator[dict[str, Any]]:
    for row in rows:
        server, _, protocol = row.stack.rpartition("-")
        if row.mbps == rate:
            for ms in row.ends_ms.values():
                yield {"server": server or "ours", "protocol": protocol, "ms": ms}
