"""docs/results/stand-ins.md: how near the stand-ins of wolsing2019 are to what VGPrio published.

    uv run python packages/papers/bench/standins_page.py

Reads docs/results/stand-ins.csv, which standins.py writes. Runs nothing.
"""

from pathlib import Path

import altair as alt
import numpy as np
import polars as pl
import vl_convert
from numpy.typing import NDArray
from scipy.stats import spearmanr
from standins_fit import LEAST_MS, LINKS, Link, published, three, typical

from dragstrip_papers.report.style import Figure, Row, data, figure, panels

RESULTS = Path(__file__).parents[3] / "docs" / "results"
TWICE = np.log(2)
FAR = 1.25
"""Ratio from which a site is named as far off."""
Values = NDArray[np.float64]


def main() -> None:
    loads = pl.read_csv(RESULTS / "stand-ins.csv")
    drawn = scatter(loads)
    (RESULTS / f"{drawn.name}.svg").write_text(vl_convert.vegalite_to_svg(drawn.spec))
    file = RESULTS / "stand-ins.md"
    before, _, after = file.read_text().partition(BEGIN)
    file.write_text(f"{before}{BEGIN}\n\n{told(loads)}\n{END}{after.partition(END)[2]}")


BEGIN, END = "<!-- standins_page.py -->", "<!-- end -->"


def told(loads: pl.DataFrame) -> str:
    whole = loads.with_columns(ratio=pl.col("here_ms") / pl.col("published_ms"))
    planned = len(published()) * len(LINKS)
    missing = f", drawn at random; {planned - len(loads)} were not visited yet"
    lines = [
        f"{len(loads)} of {planned} pairs of page and network"
        f"{missing if len(loads) < planned else ''}:",
        "",
        "| network | median ratio | Spearman | within a factor of two | left out of the fit: "
        "median ratio | within two |",
        "|---|---|---|---|---|---|",
    ]
    out = left_out(loads)
    for name, mine, without in [
        *((said(link), on(whole, link), on(out, link)) for link in LINKS),
        ("all", whole, out),
    ]:
        ratios = without["ratio"].to_numpy()
        lines.append(
            f"| {name} | {numbers(mine)} | {np.median(ratios):.2f} | "
            f"{within(ratios)} of {len(ratios)} |"
        )
    sites = whole.group_by("page", "site").agg(pl.col("ratio").log().mean().exp()).sort("ratio")
    far = sites.filter((pl.col("ratio") > FAR) | (pl.col("ratio") < 1 / FAR))
    named = ", ".join(f"{page} ({site}) {ratio:.2f}" for page, site, ratio in far.iter_rows())
    lines += [
        "",
        f"By site, over the networks: {within(sites['ratio'].to_numpy())} of {len(sites)} "
        f"within a factor of two. More than {FAR - 1:.0%} off in the mean: {named or 'none'}.",
        "",
    ]
    return "\n".join(lines)


def numbers(loads: pl.DataFrame) -> str:
    theirs, ours = loads["published_ms"].to_numpy(), loads["here_ms"].to_numpy()
    rank = spearmanr(theirs, ours).statistic
    return f"{np.median(ours / theirs):.2f} | {rank:.2f} | {within(ours / theirs)} of {len(ours)}"


def within(ratios: Values) -> int:
    return int((np.abs(np.log(ratios)) < TWICE).sum())


def left_out(loads: pl.DataFrame) -> pl.DataFrame:
    """Return the ratio of each load to the published, had its network been left out of the fit.

    Three networks tell what a site waits, its round trips and its bytes. The page is moved by as
    much as these differ from what all four tell.
    """
    wanted = published()
    times = {site: np.array([own[link] for link in LINKS]) for site, own in wanted.items()}
    whole = {site: three(LINKS, theirs) for site, theirs in times.items()}
    found = []
    for i, link in enumerate(LINKS):
        others = [other for other in LINKS if other != link]
        kept = [j for j in range(len(LINKS)) if j != i]
        alike = typical([three(others, theirs[kept]) for theirs in times.values()])
        for row in on(loads, link).iter_rows(named=True):
            theirs = times[row["site"]]
            part = three(others, theirs[kept], alike)
            moved = row["here_ms"] + (part.over([link]) - whole[row["site"]].over([link]))[0]
            found.append(row | {"ratio": max(moved, LEAST_MS) / theirs[i]})
    return pl.DataFrame(found)


def on(loads: pl.DataFrame, link: Link) -> pl.DataFrame:
    return loads.filter(rate_mbps=link.rate_mbps, rtt_ms=link.rtt_ms)


def said(link: Link) -> str:
    return f"{link.rate_mbps:g} Mbit/s, {link.rtt_ms:g} ms"


def scatter(loads: pl.DataFrame) -> Figure:
    rows: list[Row] = [
        {
            "panel": said(Link(row["rate_mbps"], row["rtt_ms"])),
            "page": f"{row['page']} ({row['site']}'s SpeedIndex)",
            "published": row["published_ms"] / 1000,
            "here": row["here_ms"] / 1000,
        }
        for row in loads.sort("rate_mbps", "rtt_ms").iter_rows(named=True)
    ]
    ends = [0.2, 40]
    scale = alt.Scale(type="log", domain=ends, nice=False)
    axis = alt.Axis(values=[0.2, 0.5, 1, 2, 5, 10, 20, 40], format="~g")

    def draw(mine: list[Row]) -> alt.LayerChart:
        band = alt.Chart(data([{"x": e, "low": e / 2, "high": e * 2} for e in ends])).mark_area(
            color="#e3e5ea", clip=True
        )
        even = alt.Chart(data([{"x": e, "y": e} for e in ends])).mark_line(
            color="#9aa0ab", strokeDash=[4, 3]
        )
        dots = alt.Chart(data(mine)).mark_circle(size=38, color="#33499a", opacity=0.8)
        return alt.layer(
            band.encode(x=alt.X("x:Q", scale=scale), y=alt.Y("low:Q", scale=scale), y2="high:Q"),
            even.encode(x=alt.X("x:Q", scale=scale), y=alt.Y("y:Q", scale=scale)),
            dots.encode(
                x=alt.X("published:Q", scale=scale, axis=axis, title="published SpeedIndex, s"),
                y=alt.Y("here:Q", scale=scale, axis=axis, title="the stand-in's, s"),
                tooltip=["page:N", "published:Q", "here:Q"],
            ),
        ).properties(width=290, height=290)

    return figure(
        "published-speed-index",
        "SpeedIndex of 38 sites, published and of their stand-ins",
        "Each dot is a site. Grey: within a factor of two.",
        panels(rows, "panel", draw, columns=2),
        rows,
    )


if __name__ == "__main__":
    main()
