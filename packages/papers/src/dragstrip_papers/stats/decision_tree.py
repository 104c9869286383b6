"""Learns megyesi2016's decision tree from a study's scenarios: which protocol wins where.

`grow` fits a classification tree to the winners of the 70 % / 10 % rule (as `rule7010.label` writes
them) and returns it as plain data, to be drawn or compared. `agreement` goes through a published
tree leaf by leaf.

Source: Breiman, Friedman, Olshen and Stone, "Classification and Regression Trees" (1984), as
scikit-learn builds it (Gini impurity); Megyesi et al., ICC 2016, figure 6.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

Factors = Mapping[str, float]
"""A scenario's factors as numbers, such as ``{"rtt_ms": 218, "n_objects": 5}``."""


class Leaf(Struct, frozen=True, kw_only=True):
    winner: str
    """The most frequent winner of the leaf's scenarios."""
    counts: dict[str, int]
    """Number of scenarios by winner."""


class Split(Struct, frozen=True, kw_only=True):
    """Scenarios whose `factor` is at most `threshold` go to `low`."""

    factor: str
    threshold: float
    low: "Split | Leaf"
    high: "Split | Leaf"


Tree = Split | Leaf


class PublishedLeaf(Struct, frozen=True, kw_only=True):
    """A leaf of a published tree. `levels` has the level of each factor, without factors that the
    leaf leaves open."""

    levels: dict[str, str]
    winner: str


class LeafAgreement(Struct, frozen=True, kw_only=True):
    leaf: PublishedLeaf
    found: dict[str, int]
    """Number of our scenarios in this leaf, by winner."""
    agreeing: int
    scenarios: int


def grow(scenarios: Sequence[Factors], winners: Sequence[str], depth: int | None = None) -> Tree:
    """Grow a tree over scenarios that all have the same factors. Equal input gives the same tree.

    Raises `ValueError` without scenarios, or if their factors differ.
    """
    if not scenarios or len(scenarios) != len(winners):
        raise ValueError(f"a tree needs scenarios with winners, not {len(scenarios)}")
    factors = list(scenarios[0])
    if any(set(s) != set(factors) for s in scenarios):
        raise ValueError("all scenarios of a tree have the same factors")
    from sklearn.tree import DecisionTreeClassifier  # takes a second to import

    rows = np.array([[s[f] for f in factors] for s in scenarios], dtype=float)
    fitted = DecisionTreeClassifier(max_depth=depth, random_state=0).fit(rows, list(winners)).tree_
    where = fitted.apply(rows.astype(np.float32))

    def node(i: int) -> Tree:
        if fitted.children_left[i] < 0:
            counts: dict[str, int] = {}
            for leaf, winner in zip(where, winners, strict=True):
                if leaf == i:
                    counts[winner] = counts.get(winner, 0) + 1
            return Leaf(winner=max(sorted(counts), key=lambda w: counts[w]), counts=counts)
        return Split(
            factor=factors[fitted.feature[i]],
            threshold=float(fitted.threshold[i]),
            low=node(int(fitted.children_left[i])),
            high=node(int(fitted.children_right[i])),
        )

    return node(0)


def agreement(
    published: Sequence[PublishedLeaf],
    scenarios: Sequence[Mapping[str, Sequence[str]]],
    winners: Sequence[str],
) -> list[LeafAgreement]:
    """Compare each published leaf with our scenarios in it.

    A scenario gives the levels that each factor may have: ``{"bandwidth": ("low", "high")}`` for a
    rate to which the paper assigns no level. Such a scenario is looked up under both levels.
    """

    def holds(leaf: PublishedLeaf, scenario: Mapping[str, Sequence[str]]) -> bool:
        return all(level in scenario[factor] for factor, level in leaf.levels.items())

    compared = []
    for leaf in published:
        inside = [w for s, w in zip(scenarios, winners, strict=True) if holds(leaf, s)]
        compared.append(
            LeafAgreement(
                leaf=leaf,
                found={winner: inside.count(winner) for winner in dict.fromkeys(inside)},
                agreeing=inside.count(leaf.winner),
                scenarios=len(inside),
            )
        )
    return compared
