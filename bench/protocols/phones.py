"""Does the faster protocol stay the faster one on a phone?

    uv run python bench/protocols/phones.py FOLDER [--write]

FOLDER has the capsules of docs/results/phones.toml: `phones-1`, `phones-4` and so on, one for each
slow-down. `--write` puts docs/results/phones.md and its picture there.
"""

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import geometric_mean, median

import altair as alt
import polars as pl
from ratios import BASE, kept, ratios

import dragstrip

DOCS = Path(__file__).parents[2] / "docs" / "results"
PAGE, PICTURE = DOCS / "phones.md", DOCS / "phones.svg"
NETWORKS = ("DSL", "LTE")
FINDINGS = " ".join(
    """
**HTTP/3 stays the faster one, and its lead shrinks with the phone.** Over LTE it takes 22 % less
time than h2 on a laptop, 15 % on a mid-tier phone and 8 % on a low-end one: the client's computing
adds the same to both. Over DSL the lead is 12 % on a mid-tier phone, and on a low-end one 3 %,
about as much as equal stacks differ. No page has h2 in front. It took 0.3 hours with two guests at
once, beside other work.
""".split()
)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    made = {
        int(path.name.removeprefix("phones-")): dragstrip.open(path).visits()
        for path in asked.folder.glob("phones-*")
        if path.is_dir()
    }
    made = dict(sorted(made.items()))
    text = "\n".join(page(made))
    print(text)
    if asked.write:
        PAGE.write_text(f"{text}\n")
        draw(made, PICTURE)


def page(made: Mapping[int, pl.DataFrame]) -> Iterator[str]:
    yield "# Does the faster protocol stay the faster one on a phone?"
    yield ""
    for times in made:
        run = f"dragstrip run docs/results/phones.toml --device {times}x"
        yield f"    {run} --out capsules/phones-{times}"
    yield "    uv run python bench/protocols/phones.py capsules --write"
    yield ""
    every = pl.concat(
        [v.select("valid", "block", "page", "network", "stack") for v in made.values()]
    )
    yield (
        f"{len(every)} loads ({every['valid'].sum()} valid) of the demo page and of recordings, in "
        "virtual time with computing. `4x` is Lighthouse's factor for a mid-tier phone, `10x` that "
        "for a low-end one ([devices](../howto/devices.md)). The slow-down multiplies the client's "
        "prices of system calls, keys and memory, so read it as a direction. Put the recordings "
        "beside the study."
    )
    if FINDINGS:
        yield ""
        yield FINDINGS
    yield ""
    yield "![h3 by h2, by slow-down](phones.svg)"
    yield ""
    yield "## Page load over `h3` divided by that over `h2`"
    yield ""
    yield (
        "Median of the blocks, least and most. A/A is `h2` divided by its copy, in the first block "
        "of each cell."
    )
    yield ""
    heads = [f"{times}x" for times in made]
    yield f"| network | page | {' | '.join(heads)} | {' | '.join(f'A/A {h}' for h in heads)} |"
    yield "|---" * (2 + 2 * len(heads)) + "|"
    for network in NETWORKS:
        for name in sorted(set(every["page"])):
            shown = [spread(of(v, network, name, "h3")) for v in made.values()]
            same = [spread(of(v, network, name, "control-same")) for v in made.values()]
            yield f"| {network} | {name} | {' | '.join(shown)} | {' | '.join(same)} |"
        shown = [overall(v, network) for v in made.values()]
        yield f"| {network} | **all** | {' | '.join(shown)} | {' | '.join('' for _ in made)} |"
    yield ""
    yield "## Page load over `h2`"
    yield ""
    yield "Seconds, median of the blocks."
    yield ""
    yield f"| network | page | {' | '.join(heads)} |"
    yield "|---" * (2 + len(heads)) + "|"
    for network in NETWORKS:
        for name in sorted(set(every["page"])):
            times_s = [seconds(v, network, name) for v in made.values()]
            yield f"| {network} | {name} | {' | '.join(times_s)} |"


def of(visits: pl.DataFrame, network: str, name: str, stack: str) -> list[float]:
    """Page loads over a stack divided by those over h2, block by block."""
    return sorted(ratios(cell(visits, network, name), stack))


def cell(visits: pl.DataFrame, network: str, name: str) -> pl.DataFrame:
    return kept(visits.filter(network=network, page=name))


def spread(found: list[float]) -> str:
    if not found:
        return "-"
    middle = f"{median(found):.3f}"
    return middle if len(found) == 1 else f"{middle} ({found[0]:.3f} to {found[-1]:.3f})"


def overall(visits: pl.DataFrame, network: str) -> str:
    each = [of(visits, network, name, "h3") for name in sorted(set(visits["page"]))]
    found = [median(one) for one in each if one]
    return f"**{geometric_mean(found):.3f}**" if found else "-"


def seconds(visits: pl.DataFrame, network: str, name: str) -> str:
    found = cell(visits, network, name).filter(stack=BASE)["plt_ms"].drop_nulls().to_list()
    return f"{median(found) / 1000:.2f}" if found else "-"


def draw(made: Mapping[int, pl.DataFrame], path: Path) -> None:
    values = [
        {"network": network, "page": name, "times": times, "ratio": median(found)}
        for times, visits in made.items()
        for network in NETWORKS
        for name in sorted(set(visits["page"]))
        if (found := of(visits, network, name, "h3"))
    ]
    x = alt.X(
        "times:Q",
        title="how many times slower the client is",
        scale=alt.Scale(type="log"),
        axis=alt.Axis(values=list(made)),
    )
    y = alt.Y("ratio:Q", title="page load, h3 / h2", scale=alt.Scale(zero=False))
    lines = (
        alt.Chart().mark_line(point=True).encode(x=x, y=y, color=alt.Color("page:N", title=None))
    )
    one = alt.Chart().mark_rule(color="#999999").encode(y=alt.datum(1))
    chart = alt.layer(one, lines, data=alt.Data(values=values)).properties(width=280, height=200)
    chart.facet(alt.Facet("network:N", title=None), columns=2).save(path)


if __name__ == "__main__":
    main()
