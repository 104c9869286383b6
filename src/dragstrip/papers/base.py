"""What all kinds of predicates have in common."""

import re
from typing import Any

from msgspec import Struct, structs

from dragstrip.papers.answer import UNDECIDED, Answer, Band
from dragstrip.papers.cells import Cell, Statistic, Where, cells, select
from dragstrip.papers.evidence import Evidence


def _tag(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


class Predicate(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind", tag=_tag
):
    """Parameters as `claims.toml` gives them; `answer` looks at nothing but the evidence."""

    where: Where = {}
    """The claim's cells, by factor or name; see `dragstrip.papers.cells.Where`."""
    unless: Where = {}
    metric: str = "plt_ms"
    statistic: Statistic = "median"
    cells: int = 1
    """How many cells the claim is about; with fewer it stays undecided."""
    loads: int = 2
    """Blocks a cell must have to count as run."""

    def answer(self, evidence: Evidence) -> Answer:
        raise NotImplementedError

    def base(self, metric: str) -> dict[str, Any]:
        """What every kind has, for a predicate on the same cells by another metric."""
        own = {name: getattr(self, name) for name in Predicate.__struct_fields__}
        return own | {"metric": metric}

    def found(self, evidence: Evidence, *stacks: str, metric: str = "") -> list[Cell]:
        rows = select(evidence.loads, self.where, self.unless)
        return cells(rows, stacks, metric or self.metric, self.loads)


def ask(predicate: Predicate, evidence: Evidence) -> Answer:
    """Its answer; where no cell has the loads it asks for, what fewer say and do not settle."""
    answer = predicate.answer(evidence)
    if answer.ours or answer.verdict != UNDECIDED or predicate.loads == 1:
        return answer
    fewer = structs.replace(predicate, loads=1).answer(evidence)
    if not fewer.ours:
        return answer
    why = f"from fewer than the {predicate.loads} complete blocks a cell that it asks for"
    return Answer(verdict=UNDECIDED, ours=fewer.ours, why=why)


def not_run(stacks: tuple[str, ...] | list[str], loads: int) -> Answer:
    names = " and ".join(stacks)
    return Answer(verdict=UNDECIDED, why=f"no cell of it has {loads} complete blocks of {names}")


def margin_band(margin: float) -> Band:
    """Ratios within a margin, mirrored: 0.05 is 1 / 1.05 to 1.05."""
    return Band(1 / (1 + margin), 1 + margin)
