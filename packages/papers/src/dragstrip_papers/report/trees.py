"""Draws megyesi2016's decision tree: the published tree leaf by leaf, and the tree that grows from
our loads."""

from collections.abc import Mapping, Sequence

import altair as alt
from msgspec import Struct

from dragstrip.report.figures.palette import ALARM, PROTOCOL, UNKNOWN
from dragstrip_papers.cells import Cell
from dragstrip_papers.measured import Evidence
from dragstrip_papers.report.style import INK, SOFT, Figure, Row, data, figure
from dragstrip_papers.scenarios import Levels, Tree
from dragstrip_papers.stats import decision_tree

_WIDTH, _ROW = 900, 24
_KNOWN = {"QUIC": PROTOCOL["h3"], "SPDY": PROTOCOL["h2"], "HTTP": PROTOCOL["h1"]}
_NAMED_ONE_BY_ONE = 3


class _Told(Struct, frozen=True):
    name: str
    per: float = 1
    unit: str = ""


_FACTORS = {
    "rate_mbps": _Told("rate", unit=" Mbit/s"),
    "rtt_ms": _Told("round trip", unit=" ms"),
    "loss": _Told("loss", 0.01, " %"),
    "objects": _Told("objects"),
    "object_bytes": _Told("object size", 1000, " KB"),
}


class TreeNode(Struct, frozen=True):
    text: str
    edge: str = ""
    """Label of the branch that leads to the node."""
    below: tuple["TreeNode", ...] = ()
    winner: str = ""
    """Winner of a leaf; empty for other nodes."""
    note: str = ""
    standing: str = ""
    """Result for a leaf that is compared: ``agrees``, ``differs`` or ``not run``."""


def published(claimed: Tree, evidence: Evidence) -> Figure:
    """Draw the paper's tree. Each leaf also shows the results of our scenarios in it."""
    labels = claimed.labels(evidence)
    read = [{n: level.of(cell) for n, level in claimed.levels.items()} for cell, _ in labels]
    compared = decision_tree.agreement(claimed.leaves, read, [won[0] for _, won in labels])
    root = _grow([(dict(c.leaf.levels), c) for c in compared], claimed.levels)
    whole = sum(c.agreeing == c.scenarios > 0 for c in compared)
    seen = sum(c.scenarios > 0 for c in compared)
    rows = [
        {**c.leaf.levels, "published": c.leaf.winner, "ours": _tally(c.found)} for c in compared
    ]
    return figure(
        "tree-published",
        "The published decision tree, leaf by leaf",
        "Each leaf names the published winner by the 70 % / 10 % rule, and then how many of our "
        f"scenarios in this leaf had which winner. {seen} of {len(compared)} leaves have one that "
        f"was run, {whole} of these agree wholly. A scenario at a rate that the paper calls "
        "neither low nor high is in two leaves. As figure 8 of the paper.",
        _drawn(root),
        rows,
    )


def own(claimed: Tree, evidence: Evidence) -> Figure | None:
    """Draw the tree grown from our scenarios."""
    labels = claimed.labels(evidence)
    if len(labels) < 4:
        return None
    factors = [lv.factor for lv in claimed.levels.values()]
    scenarios = [{f: _value(cell, f) for f in factors} for cell, _ in labels]
    winners = [won[0] for _, won in labels]
    grown = decision_tree.grow(scenarios, winners, depth=5)
    rows = [{**s, "winner": w} for s, w in zip(scenarios, winners, strict=True)]
    return figure(
        "tree-own",
        "The decision tree of our loads",
        f"A classification tree over {len(rows)} scenarios of ours, each with its winner by the "
        "70 % / 10 % rule; in brackets how many scenarios of a leaf had which winner.",
        _drawn(_node(grown, {f: sorted({s[f] for s in scenarios}) for f in factors})),
        rows,
    )


def _value(cell: Cell, factor: str) -> float:
    return cell.factors.get(factor, 0.0)


def _grow(
    leaves: Sequence[tuple[dict[str, str], decision_tree.LeafAgreement]],
    levels: Mapping[str, Levels],
    edge: str = "",
) -> TreeNode:
    if not leaves[0][0]:
        found = leaves[0][1]
        said = "agrees" if found.agreeing == found.scenarios else "differs"
        note = f"ours: {_tally(found.found)}" if found.scenarios else "ours: not run"
        return TreeNode(
            "", edge, (), found.leaf.winner, note, said if found.scenarios else "not run"
        )
    factor = next(iter(leaves[0][0]))
    groups: dict[str, list[tuple[dict[str, str], decision_tree.LeafAgreement]]] = {}
    for open_, leaf in leaves:
        rest = {k: v for k, v in open_.items() if k != factor}
        groups.setdefault(open_[factor], []).append((rest, leaf))
    below = tuple(_grow(group, levels, level) for level, group in groups.items())
    return TreeNode(factor.replace("_", " ").replace("n objects", "objects"), edge, below)


def _node(
    tree: decision_tree.Tree, values: Mapping[str, Sequence[float]], edge: str = ""
) -> TreeNode:
    """Convert a grown tree for drawing. `values` has the values of each factor that scenarios can
    have, in ascending order."""
    if isinstance(tree, decision_tree.Leaf):
        return TreeNode("", edge, (), tree.winner, f"({_tally(tree.counts)})")
    below = []
    for side, low in ((tree.low, True), (tree.high, False)):
        own = [v for v in values[tree.factor] if (v <= tree.threshold) == low]
        below.append(_node(side, {**values, tree.factor: own}, _among(tree.factor, own)))
    return TreeNode(_FACTORS[tree.factor].name, edge, tuple(below))


def _among(factor: str, values: Sequence[float]) -> str:
    told = _FACTORS[factor]
    numbers = [f"{v / told.per:.3g}" for v in values]
    many = len(numbers) > _NAMED_ONE_BY_ONE
    return (f"{numbers[0]} to {numbers[-1]}" if many else ", ".join(numbers)) + told.unit


def _tally(found: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {winner}" for winner, count in found.items())


def _drawn(root: TreeNode) -> alt.LayerChart:
    """Draw the tree: depth runs from left to right; leaves stand below each other."""
    depth = _depth(root)
    step = _WIDTH * 0.62 / max(depth, 1)
    nodes: list[Row] = []
    edges: list[Row] = []

    def lay(node: TreeNode, level: int, next_row: int) -> tuple[float, int]:
        x = (level if node.below else depth) * step
        ys = []
        for below in node.below:
            y, next_row = lay(below, level + 1, next_row)
            ys.append((below, y))
        own_y = sum(y for _, y in ys) / len(ys) if ys else float(next_row)
        if not ys:
            next_row += 1
        for below, y in ys:
            end = (level + 1 if below.below else depth) * step
            edges.append({"x": x + 4, "y": own_y, "x2": x + step * 0.45, "y2": y, "text": ""})
            edges.append({"x": x + step * 0.45, "y": y, "x2": end - 4, "y2": y, "text": below.edge})
        nodes.append(
            {
                "x": x,
                "y": own_y,
                "text": node.text,
                "winner": node.winner.replace("|", " | "),
                "note": node.note,
                "standing": node.standing,
                "colour": _KNOWN.get(node.winner.split("|")[0], UNKNOWN),
            }
        )
        return own_y, next_row

    _, rows = lay(root, 0, 0)
    x = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[-70, _WIDTH], nice=False))
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[rows, -1], nice=False))
    at = alt.Chart(data(nodes)).encode(x=x, y=y)
    standing = alt.Color(
        "standing:N",
        legend=None,
        scale=alt.Scale(
            domain=["agrees", "differs", "not run", ""], range=[PROTOCOL["h3"], ALARM, SOFT, INK]
        ),
    )
    layers = [
        alt.Chart(data(edges)).mark_rule(color="#b9bec6").encode(x=x, y=y, x2="x2:Q", y2="y2:Q"),
        alt.Chart(data([e for e in edges if e["text"]]))
        .mark_text(align="left", dx=3, dy=-5, fontSize=10, color=SOFT)
        .encode(x=x, y=y, text="text:N"),
        at.transform_filter("datum.text != ''")
        .mark_text(align="right", dx=2, dy=11, fontSize=11, fontWeight=600, color=INK)
        .encode(text="text:N"),
        at.transform_filter("datum.winner != ''")
        .mark_text(align="left", dx=2, fontSize=11, fontWeight=600)
        .encode(text="winner:N", color=alt.Color("colour:N", scale=None)),
        at.transform_filter("datum.winner != ''")
        .mark_text(align="left", dx=110, fontSize=11)
        .encode(text="note:N", color=standing),
    ]
    chart: alt.LayerChart = (
        alt.layer(*layers)
        .resolve_scale(color="independent")
        .properties(width=_WIDTH, height=rows * _ROW)
    )
    return chart


def _depth(node: TreeNode) -> int:
    return 1 + max(map(_depth, node.below)) if node.below else 0
