"""Draws wolsing2019's counts: on how many pages a stack is significantly faster, and what one round
trip explains."""

from collections.abc import Sequence
from statistics import fmean

import altair as alt

from dragstrip.report.figures.palette import PROTOCOL
from dragstrip_papers.cells import Where, aligned, select
from dragstrip_papers.measured import Evidence
from dragstrip_papers.report.pairs import short
from dragstrip_papers.report.style import INK, Figure, Row, data, figure, panels
from dragstrip_papers.stats.anova_counts import anova_counts
from dragstrip_papers.stats.one_rtt import one_rtt_corrected

FASTER, NEITHER, SLOWER = "the first is faster", "no difference shown", "the second is faster"


def anova(
    evidence: Evidence, pairs: Sequence[tuple[str, str]], metrics: dict[str, str]
) -> Figure | None:
    """Draw the pages counted by a one-way ANOVA at p < 0.01, for each pair (a, ref), network and
    metric."""
    rows: list[Row] = []
    networks = evidence.loads["network"]
    for network in dict.fromkeys(networks):
        there = [cell for cell in evidence.cells if cell.network == network]
        for a, ref in pairs:
            for metric, name in metrics.items():
                found = aligned(there, (ref, a), metric, 2)
                if not found:
                    continue
                counts = anova_counts(
                    {c.page: (list(c.times[ref]), list(c.times[a])) for c in found}
                )
                told = (
                    (FASTER, counts.printed.faster, counts.holm.faster),
                    (NEITHER, counts.printed.none, counts.holm.none),
                    (SLOWER, counts.printed.slower, counts.holm.slower),
                )
                rows += [
                    {
                        "panel": f"{network}: {a} against {ref}",
                        "network": network,
                        "pair": f"{a} against {ref}",
                        "metric": name,
                        "found": what,
                        "order": i,
                        "pages": n,
                        "holm": holm,
                    }
                    for i, (what, n, holm) in enumerate(told)
                ]
    if not rows:
        return None
    order = [f"{a} against {ref}" for a, ref in pairs]
    colours = [PROTOCOL["h3"], "#d5d8de", PROTOCOL["h2"]]

    def draw(mine: list[Row]) -> alt.Chart:
        chart: alt.Chart = (
            alt.Chart(data(mine))
            .mark_bar(height=13)
            .encode(
                x=alt.X("pages:Q", title="pages", axis=alt.Axis(tickMinStep=1)),
                y=alt.Y("metric:N", title=None, sort=list(metrics.values())),
                color=alt.Color(
                    "found:N",
                    title=None,
                    scale=alt.Scale(domain=[FASTER, NEITHER, SLOWER], range=colours),
                ),
                order="order:Q",
                tooltip=[
                    "pair:N",
                    "found:N",
                    "pages:Q",
                    alt.Tooltip("holm:Q", title="after Holm"),
                ],
            )
            .properties(width=180, height=alt.Step(19))
        )
        return chart

    rows.sort(key=lambda r: order.index(r["pair"]))
    chart = panels(rows, "panel", draw, columns=networks.n_unique())
    return figure(
        "anova",
        "Pages with a significant difference",
        "One-way ANOVA of each page's loads at p < 0.01, as the paper counts: nothing corrects "
        "for the number of pages (the tooltip and the CSV have Holm's count too). The paper has "
        f"38 pages, here there are {evidence.loads['page'].n_unique()}.",
        chart,
        rows,
    )


def one_rtt(evidence: Evidence, pages: Where, metrics: dict[str, str]) -> Figure | None:
    """Draw the difference of the means of QUIC and TCP+ less one round trip, in round trips (table
    3).

    For the network MSS the figure also shows the pair with BBR, as in the paper.
    """
    rows: list[Row] = []
    measured = select(evidence.cells, pages)
    for metric, name in metrics.items():
        for tcp, quic in (("TCP+", "QUIC"), ("TCP+BBR", "QUIC+BBR")):
            for cell in aligned(measured, (tcp, quic), metric):
                rtt_ms = cell.factors["rtt_ms"]
                if quic == "QUIC+BBR" and cell.network != "MSS":
                    continue
                left = one_rtt_corrected(list(cell.times[tcp]), list(cell.times[quic]), rtt_ms)
                bbr = ", BBR" if quic == "QUIC+BBR" else ""
                rows.append(
                    {
                        "page": short(cell.page),
                        "place": f"{cell.network}{bbr}, {rtt_ms:g} ms",
                        "metric": name,
                        "rtts": left.rtts,
                        "ms": left.ms,
                        "text": f"{left.rtts:+.2f}",
                        "mean_tcp_ms": fmean(cell.times[tcp]),
                        "mean_quic_ms": fmean(cell.times[quic]),
                    }
                )
    if not rows:
        return None
    scale = alt.Scale(
        domain=[-2, 0, 2], range=[PROTOCOL["h3"], "#f4f5f7", PROTOCOL["h2"]], clamp=True
    )

    def draw(mine: list[Row]) -> alt.LayerChart:
        base = alt.Chart(data(mine)).encode(
            x=alt.X(
                "metric:N",
                title=None,
                sort=list(metrics.values()),
                axis=alt.Axis(labelAngle=0, domain=False, ticks=False, grid=False),
            ),
            y=alt.Y("page:N", title=None, axis=alt.Axis(domain=False, ticks=False, grid=False)),
            tooltip=["page:N", "place:N", "metric:N", "text:N", alt.Tooltip("ms:Q", format=".1f")],
        )
        tiles = base.mark_rect(stroke="white", strokeWidth=2).encode(
            color=alt.Color("rtts:Q", title="round trips; negative: QUIC ahead", scale=scale)
        )
        strong = alt.condition("abs(datum.rtts) > 1.2", alt.value("white"), alt.value(INK))
        text = base.mark_text(fontSize=11).encode(text="text:N", color=strong)
        made: alt.LayerChart = (tiles + text).properties(width=alt.Step(52), height=alt.Step(26))
        return made

    rows.sort(key=lambda r: r["place"])
    chart = panels(rows, "place", draw, columns=2)
    return figure(
        "one-rtt",
        "What is left of QUIC's lead without one round trip",
        "Means of QUIC minus means of TCP+ plus one round trip, in round trips: QUIC's shorter "
        "handshake explains one; values below zero remain unexplained. As table 3 of the paper.",
        chart,
        rows,
    )
