"""Defines megyesi2016's predicates: which protocol wins a scenario by the 70 % / 10 % rule."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import combinations
from math import inf, sqrt

import numpy as np
from msgspec import Struct, structs
from numpy.typing import NDArray

from dragstrip.pages import corpus
from dragstrip_papers.answer import ALPHA, Answer, every_one, incomplete, judged
from dragstrip_papers.base import Predicate, named, not_run, shorter
from dragstrip_papers.cells import Cell
from dragstrip_papers.estimate import Mean
from dragstrip_papers.measured import Evidence
from dragstrip_papers.shares import doubt, settle_share
from dragstrip_papers.stats.decision_tree import PublishedLeaf, agreement
from dragstrip_papers.stats.rule7010 import EQUAL, FASTER, SHARE, label

Winners = NDArray[np.str_]
RESAMPLES = 400
LEAST_LOADS = 5


class Levels(Struct, frozen=True, forbid_unknown_fields=True):
    """Levels of a factor. Values from `split` on are `high`; a value in `either` may be read as
    either level."""

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
    """A predicate on a study's scenarios. `names` says which of our stacks stands for which
    protocol of the paper."""

    names: dict[str, str]

    def labels(self, evidence: Evidence) -> list[tuple[Cell, Winners]]:
        """Return each scenario with its winner, and the winners of its resamples."""
        return [
            (cell, resampled_winners(cell, self.names, i))
            for i, cell in enumerate(self.found(evidence, *self.names))
        ]


class Rule7010(Scenarios, kw_only=True, frozen=True):
    """States that every scenario has the same winner; EQUAL counts as a winner."""

    winner: str

    def answer(self, evidence: Evidence) -> Answer:
        answers = [self._one(cell, labels) for cell, labels in self.labels(evidence)]
        if not answers:
            return not_run(list(self.names), self.loads)
        whole = shorter(every_one(answers), answers)
        return incomplete(whole, len(answers), self.cells, universal=True)

    def _one(self, cell: Cell, labels: Winners) -> Answer:
        agreeing = float(np.mean(labels[1:] == self.winner))
        where = f"{corpus.label(cell.page)} on {cell.network}"
        ours = f"{where}: {labels[0]}, {agreeing:.0%} of resamples agree"
        if cell.blocks < LEAST_LOADS:
            return Answer(verdict="open", ours=ours, why=f"{cell.blocks} loads are too few")
        is_so = labels[0] == self.winner
        return judged(
            Answer(
                verdict="open",
                ours=ours,
                why="resamples name several winners",
                holds=_sureness(1 - agreeing, cell.blocks) if is_so else 1.0,
                fails=1.0 if is_so else _sureness(agreeing, cell.blocks),
            )
        )


class ScenarioShare(Scenarios, kw_only=True, frozen=True):
    """States the share of the scenarios that have this winner."""

    winner: str
    at_least: float = 0.0
    at_most: float = 1.0

    def answer(self, evidence: Evidence) -> Answer:
        found = self.labels(evidence)
        if not found:
            return not_run(list(self.names), self.loads)
        hits = np.array([labels == self.winner for _, labels in found])
        return _share(hits, found, self.cells, self.at_least, self.at_most)


class Tree(Scenarios, kw_only=True, frozen=True):
    """States how well scenarios agree with a published tree: the share of scenarios that have the
    winner of their leaf.

    If the paper does not assign a level to a scenario's factor, the scenario falls into two leaves
    and may agree with either.
    """

    levels: dict[str, Levels]
    leaves: list[PublishedLeaf]
    at_least: float

    def answer(self, evidence: Evidence) -> Answer:
        found = self.labels(evidence)
        if not found:
            return not_run(list(self.names), self.loads)
        read = [{name: level.of(cell) for name, level in self.levels.items()} for cell, _ in found]
        wanted = [self._winners(factors) for factors in read]
        hits = np.array(
            [np.isin(labels, list(fits)) for fits, (_, labels) in zip(wanted, found, strict=True)]
        )
        answer = _share(hits, found, self.cells, self.at_least, 1.0)
        compared = agreement(self.leaves, read, [str(won[0]) for _, won in found])
        whole = sum(leaf.agreeing == leaf.scenarios > 0 for leaf in compared)
        ours = f"{answer.ours}; {whole} of {len(self.leaves)} leaves agree wholly"
        return structs.replace(answer, ours=ours)

    def _winners(self, factors: Mapping[str, Sequence[str]]) -> frozenset[str]:
        return frozenset(
            leaf.winner
            for leaf in self.leaves
            if all(level in factors[name] for name, level in leaf.levels.items())
        )


def resampled_winners(cell: Cell, names: Mapping[str, str], seed: int) -> Winners:
    """Return the winner of the cell's loads, then of `RESAMPLES` resamples of its blocks."""
    times = {name: cell.times[stack] for stack, name in names.items()}
    return _winners(times, _drawn(seed, cell.blocks))


@lru_cache(maxsize=256)
def _drawn(seed: int, blocks: int) -> NDArray[np.int32]:
    """Return how often each block is in each sample, one column per sample. The first sample has
    every block once."""
    draw = np.random.default_rng([seed, blocks])
    rows = draw.integers(blocks, size=(RESAMPLES, blocks))
    counts = [np.bincount(row, minlength=blocks) for row in rows]
    return np.ascontiguousarray(np.array([np.ones(blocks), *counts], dtype=np.int32).T)


def _winners(times: Mapping[str, NDArray[np.float64]], drawn: NDArray[np.int32]) -> Winners:
    """Return the winners of many samples at once. For one sample,
    `dragstrip_papers.stats.rule7010.winners` finds the same."""
    blocks, samples = drawn.shape
    bars = {name: (1 - FASTER) * (t @ drawn) / blocks for name, t in times.items()}
    below = {name: _below(t, drawn) for name, t in times.items()}
    better = {
        (a, b): below[a](bars[b]) >= SHARE * blocks - 1e-9 for a in times for b in times if a != b
    }
    labels, found = [EQUAL], np.zeros(samples, dtype=int)
    for size in range(len(times) - 1, 0, -1):
        for group in reversed(list(combinations(times, size))):
            rest = [name for name in times if name not in group]
            inside = [better[a, b] for a in group for b in group if a != b]
            wins = np.all([better[a, b] for a in group for b in rest], axis=0)
            wins &= ~np.any(inside, axis=0) if inside else True
            found[wins] = len(labels)
            labels.append(label(group))
    return np.array(labels)[found]


def _below(
    times: NDArray[np.float64], drawn: NDArray[np.int32]
) -> Callable[[NDArray[np.float64]], NDArray[np.int32]]:
    """Return a function that counts the loads of each sample that take at most a given time."""
    order = np.argsort(times)
    rising = times[order]
    counts = np.zeros((len(times) + 1, drawn.shape[1]), dtype=np.int32)
    np.cumsum(drawn[order], axis=0, out=counts[1:])
    columns = np.arange(drawn.shape[1])
    return lambda bars: counts[np.searchsorted(rising, bars, side="right"), columns]


def _sureness(share: float, loads: int) -> float:
    """Return the p of a share of resamples. Resamples of a few loads spread too little, so p is
    raised."""
    return min(1.0, share * sqrt(loads / (loads - 2)) + ALPHA / loads)


def _share(
    hits: NDArray[np.bool_],
    found: Sequence[tuple[Cell, Winners]],
    cells: int,
    at_least: float,
    at_most: float,
) -> Answer:
    told = f"{int(hits[:, 0].sum())} of {len(hits)} scenarios, share "
    if min(cell.blocks for cell, _ in found) < LEAST_LOADS:
        why = f"scenarios with fewer than {LEAST_LOADS} loads have no sure winner"
        return Answer(verdict="open", ours=f"{told}{hits[:, 0].mean():.3f}", why=why)
    noise = [doubt(chance) for chance in hits[:, 1:].mean(axis=1)]
    share = Mean(float(hits[:, 0].mean()), sqrt(sum(noise)) / len(hits), inf, 0, 1)
    return named(settle_share(share, len(hits), cells, at_least, at_most), told)
