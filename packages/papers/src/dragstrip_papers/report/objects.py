"""Draws biswal2016's figure 5: how long each object of a page took, with and without queueing."""

from collections.abc import Iterable, Sequence
from statistics import median

import altair as alt

from dragstrip.model.stack import Stack
from dragstrip.model.visit import Visit
from dragstrip.pages import corpus
from dragstrip.visit.metrics import object_times
from dragstrip_papers.report.style import Figure, Row, data, figure, panels, tint

WITH = "from the decision to fetch it (queueing included)"
WITHOUT = "from the request sent (queueing not included)"


def object_loads(visits: Iterable[Visit], stacks: Sequence[Stack]) -> Figure | None:
    """Draw the valid visits of one cell: the median over blocks of the n-th object by time."""
    ordered: dict[tuple[str, str], list[list[float]]] = {}
    where = ""
    for visit in visits:
        times = object_times(visit)
        if not visit.valid or not times:
            continue
        where = f"{corpus.label(visit.page)} over {visit.network}"
        queued = sorted(t.queued_ms for t in times)
        sent = sorted(t.sent_ms for t in times if t.sent_ms is not None)
        ordered.setdefault((visit.stack, WITH), []).append(queued)
        ordered.setdefault((visit.stack, WITHOUT), []).append(sent)
    rows: list[Row] = [
        {
            "stack": stack,
            "counted": counted,
            "object": i + 1,
            "ms": median(loads[i] for loads in found if i < len(loads)),
        }
        for (stack, counted), found in ordered.items()
        for i in range(max(map(len, found)))
    ]
    if not rows:
        return None
    shown = [s for s in stacks if s.name in {r["stack"] for r in rows}]

    def draw(mine: list[Row]) -> alt.Chart:
        chart: alt.Chart = (
            alt.Chart(data(mine))
            .mark_circle(size=16, opacity=0.85)
            .encode(
                x=alt.X("object:Q", title="object, in order of time", scale=alt.Scale(zero=False)),
                y=alt.Y("ms:Q", title="ms", scale=alt.Scale(domain=[0, highest])),
                color=alt.Color("stack:N", scale=tint(shown), title=None),
                tooltip=["stack:N", "object:Q", alt.Tooltip("ms:Q", format=".1f")],
            )
            .properties(width=400, height=190)
        )
        return chart

    highest = max(r["ms"] for r in rows)
    rows.sort(key=lambda r: r["counted"])
    return figure(
        "objects",
        "Load time of single objects, with and without queueing",
        f"{where}. Objects sorted by time; medians over {max(len(f) for f in ordered.values())} "
        "visits per stack. As figure 5 of the paper.",
        panels(rows, "counted", draw, columns=2),
        rows,
    )
