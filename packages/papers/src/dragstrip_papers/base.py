"""Defines what all kinds of predicates have in common."""

import re
from collections.abc import Sequence
from typing import Any

from msgspec import Struct, structs

from dragstrip_papers.answer import Answer, Band
from dragstrip_papers.cells import Cell, Statistic, Where, aligned, select
from dragstrip_papers.measured import Evidence, Measured
from dragstrip_papers.populations import Population


def _tag(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


class Predicate(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind", tag=_tag
):
    """Parameters of a claim, as `claims.toml` gives them. The method `answer` reads only the
    evidence."""

    where: Where = {}
    """The claim's cells, by factor or name; see `dragstrip_papers.cells.Where`."""
    unless: Where = {}
    metric: str = "plt_ms"
    statistic: Statistic = "median"
    """The paper's own statistic."""
    population: Population = "these"
    """What the claim is about, see `dragstrip_papers.populations`."""
    cells: int = 1
    """Number of cells that the claim is about. With fewer cells the claim stays open."""
    loads: int = 2
    """Number of blocks that a cell must have to count as run."""

    def answer(self, evidence: Evidence) -> Answer:
        raise NotImplementedError

    def base(self, metric: str) -> dict[str, Any]:
        """Return the fields that every kind of predicate has, for a predicate on the same cells
        with another metric."""
        own = {name: getattr(self, name) for name in Predicate.__struct_fields__}
        return own | {"metric": metric}

    def reached(self, evidence: Evidence) -> list[Measured]:
        """Return the cells that `where` and `unless` select and that have any measurements."""
        return select(evidence.cells, self.where, self.unless)

    def found(self, evidence: Evidence, *stacks: str, metric: str = "") -> list[Cell]:
        return aligned(self.reached(evidence), stacks, metric or self.metric, self.loads)


def ask(predicate: Predicate, evidence: Evidence) -> Answer:
    """Return the predicate's answer. If no cell has enough loads, the loads still give a number,
    but the claim stays open."""
    answer = predicate.answer(evidence)
    if answer.ours or answer.verdict != "open" or predicate.loads == 1:
        return answer
    fewer = structs.replace(predicate, loads=1).answer(evidence)
    if not fewer.ours:
        return answer
    why = f"from fewer than the {predicate.loads} complete blocks a cell that it asks for"
    return Answer(verdict="open", ours=fewer.ours, why=why)


def not_run(stacks: Sequence[str], loads: int) -> Answer:
    names = " and ".join(stacks)
    return Answer(verdict="open", why=f"no cell of it has {loads} complete blocks of {names}")


def margin_band(margin: float | None) -> Band | None:
    """Return the band of ratios within a margin: for 0.05, from 1 / 1.05 to 1.05."""
    return Band(1 / (1 + margin), 1 + margin) if margin else None


def named(answer: Answer, name: str) -> Answer:
    return structs.replace(answer, ours=f"{name}{answer.ours}" if answer.ours else "")


def shorter(whole: Answer, answers: Sequence[Answer], most: int = 4) -> Answer:
    """Return the answer, which shows only the first of many parts: of those that settle the claim
    or leave it open."""
    if len(answers) <= most:
        return whole
    telling = [a for a in answers if a.verdict == whole.verdict] or list(answers)
    told = [a.ours for a in telling if a.ours][:most]
    rest = [f"and {len(answers) - len(told)} more"] if told else []
    return structs.replace(whole, ours="; ".join([*told, *rest]))
