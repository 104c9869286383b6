"""Virtual time beside real time: do both say the same of two stacks?

    dragstrip run STUDY.toml --out real
    dragstrip run STUDY.toml --virtual --out virtual
    uv run python bench/virtual/beside_real.py real virtual [--write] [--kept]

Compares the ratio of every pair of stacks on every page and network in real and in virtual time.
Metrics are page load time, first contentful paint and, with frames, SpeedIndex. Ratios agree if
they differ by at most 2 %, or if the virtual ratio lies in the real one's 95 % interval. `--write`
puts docs/reference/ virtual-beside-real.json and its picture there. `--kept` takes the ratios that
stand there, too, of networks that these capsules lack.
"""

import argparse
import math
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import altair as alt
import msgspec
from msgspec import Struct

from dragstrip.results.capsule import Capsule
from dragstrip.results.compare.stacks import compare
from dragstrip.results.compare.summary import Comparison

DOCS = Path(__file__).parents[2] / "docs" / "reference"
PAIRS = DOCS / "virtual-beside-real.json"
METRICS = {"plt_ms": "page load", "fcp_ms": "first paint", "speed_index_ms": "SpeedIndex"}
WITHIN = 0.02
Key = tuple[str, str, str, str, str]


class Pair(Struct, kw_only=True):
    page: str
    network: str
    metric: str
    a: str
    b: str
    real: float
    low: float | None
    high: float | None
    """95 % interval of `real`."""
    blocks: int
    """Blocks of `real`."""
    virtual: float

    @property
    def apart(self) -> float:
        return self.virtual / self.real - 1

    @property
    def near(self) -> bool:
        return abs(math.log(self.virtual / self.real)) <= math.log(1 + WITHIN)

    @property
    def inside(self) -> bool:
        return (
            self.low is not None and self.high is not None and self.low <= self.virtual <= self.high
        )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("real", type=Path)
    parser.add_argument("virtual", type=Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--kept", action="store_true")
    asked = parser.parse_args()
    real, virtual = (dict(ratios(Capsule.open(path))) for path in (asked.real, asked.virtual))
    found = [pair(key, one, virtual[key]) for key, one in real.items() if key in virtual]
    if not found:
        sys.exit("the two capsules share no pair of stacks")
    if asked.kept:
        measured = {one.network for one in found}
        kept = msgspec.json.decode(PAIRS.read_bytes(), type=list[Pair])
        found = [*(one for one in kept if one.network not in measured), *found]
    table(found)
    if asked.write:
        text = msgspec.json.format(msgspec.json.encode(found), indent=1)
        PAIRS.write_bytes(text + b"\n")
        draw(found)


def ratios(capsule: Capsule) -> Iterator[tuple[Key, Comparison]]:
    for c in compare(capsule.manifest.study, capsule.visits(), tuple(METRICS)):
        yield (c.page, c.network, c.metric, c.a, c.b), c


def pair(key: Key, real: Comparison, virtual: Comparison) -> Pair:
    page, network, metric, a, b = key
    return Pair(
        page=page,
        network=network,
        metric=metric,
        a=a,
        b=b,
        real=real.ratio,
        low=real.low,
        high=real.high,
        blocks=real.n,
        virtual=virtual.ratio,
    )


def table(found: list[Pair]) -> None:
    groups: dict[tuple[str, str], list[Pair]] = defaultdict(list)
    for one in found:
        groups[one.network, one.metric].append(one)
    print(
        "| network | metric | ratios | within 2 % | or in the interval | same winner "
        "| median apart |"
    )
    print("|---|---|---|---|---|---|---|")
    for (network, metric), pairs in sorted(groups.items()):
        apart = sorted(abs(p.apart) for p in pairs)
        agree = sum((p.virtual < 1) == (p.real < 1) or p.near for p in pairs)
        print(
            f"| {network} | {METRICS[metric]} | {len(pairs)} | {sum(p.near for p in pairs)} | "
            f"{sum(p.near or p.inside for p in pairs)} | {agree} | "
            f"{100 * apart[len(apart) // 2]:.1f} % |"
        )
    print("\n| page | network | metric | stacks | real | virtual |\n|---|---|---|---|---|---|")
    for p in sorted(found, key=lambda p: -abs(p.apart)):
        if not p.near and not p.inside:
            ends = f" ({p.low:.3f} to {p.high:.3f})" if p.low and p.high else ""
            print(
                f"| {p.page} | {p.network} | {METRICS[p.metric]} | {p.b} / {p.a} | "
                f"{p.real:.3f}{ends} | {p.virtual:.3f} |"
            )


def draw(found: list[Pair]) -> None:
    alt.data_transformers.disable_max_rows()
    values = [msgspec.to_builtins(p) | {"metric": METRICS[p.metric]} for p in found]
    scale = alt.Scale(type="log", nice=False)
    base = alt.Chart(alt.Data(values=values))
    points = base.mark_circle(size=18, opacity=0.6).encode(
        x=alt.X("real:Q", scale=scale, title="ratio of two stacks, real time"),
        y=alt.Y("virtual:Q", scale=scale, title="the same, virtual time"),
        color=alt.Color("network:N"),
    )
    same = base.mark_line(color="grey", strokeWidth=1).encode(x="real:Q", y="real:Q")
    layered = alt.layer(same, points).properties(width=260, height=260)
    layered.facet(alt.Facet("metric:N", title=None), columns=3).save(
        DOCS / "virtual-beside-real.svg"
    )


if __name__ == "__main__":
    main()
