"""megyesi2016's predicates: who wins a scenario by the 70 % / 10 % rule."""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from dragstrip.papers.answer import (
    LEAST_UNITS,
    UNDECIDED,
    Answer,
    Band,
    Estimate,
    incomplete,
    settle,
    together,
)
from dragstrip.papers.base import Predicate, not_run
from dragstrip.papers.cells import Cell
from dragstrip.papers.evidence import Evidence
from dragstrip.stats.decision_tree import PublishedLeaf, agreement
from dragstrip.stats.rule7010 import label, winners

RESAMPLES = 200
SURE = 0.95


class Levels(Struct, frozen=True, forbid_unknown_fields=True):
    """From `split` on a factor is `high`; a value of `either` may be read both ways."""

    factor: str
    split: float
    low: str
    high: str
    either: float | None = None

    def of(self, cell: Cell) -> Sequence[str]:
        value = cell.factors[self.factor]
        if value == self.either:
            return (self.low, self.high)
        return (self.high,) if value >= self.split else (self.low,)


class Scenarios(Predicate, kw_only=True, frozen=True):
    """`names` says which of our stacks stands for which of the paper's protocols."""

    names: dict[str, str]

    def labels(self, evidence: Evidence) -> list[tuple[Cell, list[str]]]:
        """Each scenario with its winner, and the winners of its resamples."""
        return [
            (cell, resampled_winners(cell, self.names, i))
            for i, cell in enumerate(self.found(evidence, *self.names))
        ]


class Rule7010(Scenarios, kw_only=True, frozen=True):
    """The same winner in every one of the scenarios; EQUAL is one."""

    winner: str

    def answer(self, evidence: Evidence) -> Answer:
        answers = [self._one(cell, labels) for cell, labels in self.labels(evidence)]
        if not answers:
            return not_run(list(self.names), self.loads)
        return incomplete(together(answers), len(answers), self.cells)

    def _one(self, cell: Cell, labels: list[str]) -> Answer:
        agreeing = float(np.mean([won == self.winner for won in labels[1:]]))
        words = f"{cell.page} on {cell.network}: {labels[0]}, {agreeing:.0%} of resamples agree"
        if cell.blocks < LEAST_UNITS:
            return Answer(verdict=UNDECIDED, ours=words, why=f"{cell.blocks} blocks are too few")
        if labels[0] == self.winner and agreeing >= SURE:
            return Answer(verdict="reproduced", ours=words)
        if labels[0] != self.winner and agreeing <= 1 - SURE:
            return Answer(verdict="contradicted", ours=words)
        return Answer(verdict=UNDECIDED, ours=words, why="resamples name several winners")


class ScenarioShare(Scenarios, kw_only=True, frozen=True):
    """Share of the scenarios with this winner."""

    winner: str
    at_least: float = 0.0
    at_most: float = 1.0

    def answer(self, evidence: Evidence) -> Answer:
        found = self.labels(evidence)
        if not found:
            return not_run(list(self.names), self.loads)
        hits = np.array([[won == self.winner for won in labels] for _, labels in found])
        return _share(hits, self.cells, Band(self.at_least, self.at_most))


class Tree(Scenarios, kw_only=True, frozen=True):
    """Agreement with a published tree: share of scenarios with the winner of a leaf they fall in.

    A scenario whose factor the paper does not place falls in two leaves and may agree with either.
    """

    levels: dict[str, Levels]
    leaves: list[PublishedLeaf]
    at_least: float

    def answer(self, evidence: Evidence) -> Answer:
        found = self.labels(evidence)
        if not found:
            return not_run(list(self.names), self.loads)
        read = [{name: level.of(cell) for name, level in self.levels.items()} for cell, _ in found]
        hits = np.array(
            [
                [any(leaf.agreeing for leaf in agreement(self.leaves, [s], [won])) for won in won_]
                for s, (_, won_) in zip(read, found, strict=True)
            ]
        )
        answer = _share(hits, self.cells, Band(self.at_least, 1))
        compared = agreement(self.leaves, read, [won[0] for _, won in found])
        whole = sum(leaf.agreeing == leaf.scenarios > 0 for leaf in compared)
        words = f"{answer.ours}; {whole} of {len(self.leaves)} leaves agree wholly"
        return Answer(verdict=answer.verdict, ours=words, why=answer.why)


def resampled_winners(cell: Cell, names: dict[str, str], seed: int) -> list[str]:
    """The winner of the cell's loads, then of `RESAMPLES` resamples of its blocks."""
    draw = np.random.default_rng([seed, cell.blocks])
    rows = [np.arange(cell.blocks), *draw.integers(cell.blocks, size=(RESAMPLES, cell.blocks))]
    times = {name: cell.times[stack] for stack, name in names.items()}
    return [label(winners({n: t[row].tolist() for n, t in times.items()})) for row in rows]


def _share(hits: np.ndarray, cells: int, band: Band) -> Answer:
    """Of all `cells`: those that are missing could fall either way."""
    shares = hits.mean(axis=0)
    value, (low, high) = float(shares[0]), np.quantile(shares[1:], [0.025, 0.975])
    have, total = len(hits), max(cells, len(hits))
    low = min(float(low), value) * have / total
    high = (max(float(high), value) * have + total - have) / total
    answer = settle(Estimate(value, low, high), band)
    words = f"{int(hits[:, 0].sum())} of {have} scenarios, share {answer.ours}"
    why = f"{have} of its {cells} cells are run" if have < cells else answer.why
    return Answer(verdict=answer.verdict, ours=words, why=why)
