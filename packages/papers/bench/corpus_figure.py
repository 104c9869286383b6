"""Draws a set of the corpus as figure 1 of wolsing2019: bytes up, servers down, by size.

uv run python packages/papers/bench/corpus_figure.py [set] [file.svg]
"""

import sys

import altair as alt

from dragstrip.pages import corpus


def main() -> None:
    name, file = [*sys.argv[1:3], *["wolsing2019", "docs/images/corpus.svg"][len(sys.argv) - 1 :]]
    rows = [
        {"page": p.label.partition("-")[2], "MB": p.size / 1e6, "servers": p.hosts}
        for p in corpus.known().values()
        if p.name.startswith(f"{name}/")
    ]
    axis = alt.Axis(labelLimit=320)
    pages = alt.X("page:N", sort=alt.EncodingSortField("MB"), title=None, axis=axis)
    base = alt.Chart(alt.Data(values=rows)).encode(x=pages)
    size = base.mark_bar(color="#31688e").encode(y=alt.Y("MB:Q", title="size (MB)"))
    servers = base.mark_bar(color="#c0392b").encode(
        y=alt.Y("servers:Q", scale=alt.Scale(reverse=True), title="servers")
    )
    chart = alt.vconcat(
        size.properties(width=820, height=170, title=f"Stand-ins for the sites of {name}").encode(
            x=pages.axis(None)
        ),
        servers.properties(width=820, height=110),
        spacing=4,
    )
    chart.save(file)


if __name__ == "__main__":
    main()
