"""Judges whether a study can be trusted: why visits are invalid, which stacks that affects, and
which limits were used."""

import polars as pl
from msgspec import Struct, structs

from dragstrip.model import thresholds as model
from dragstrip.model.reasons import REASONS, Meaning
from dragstrip.model.study import Study
from dragstrip.model.thresholds import DEFAULTS, Thresholds
from dragstrip.model.visit import ReasonCode
from dragstrip.report.words import machines as machine_words
from dragstrip.results.bias import Bias, bias_of_table
from dragstrip.results.compare.bias_words import sentence
from dragstrip.results.compare.machines import machines
from dragstrip.results.tables.docstrings import docstrings
from dragstrip.verdict.rules import VERSION


class ThresholdRow(Struct, frozen=True, kw_only=True):
    """One threshold of the verdict, as a row of a table."""

    name: str
    value: float
    default: float
    meaning: str

    @property
    def changed(self) -> bool:
        return self.value != self.default


class ReasonCount(Struct, frozen=True, kw_only=True):
    """A reason, and how many visits it invalidated."""

    code: ReasonCode
    visits: int
    meaning: Meaning


class Belief(Struct, frozen=True, kw_only=True):
    rules: int
    """Version of the rules, see `dragstrip.verdict.rules`."""
    limits: tuple[ThresholdRow, ...]
    reasons: tuple[ReasonCount, ...]
    """Reasons, most frequent first."""
    bias: tuple[Bias, ...]
    sentence: str
    """A sentence on whether invalid visits bias the result; empty if no visit is invalid."""
    machines: str
    """A sentence on whether the machines agree; empty if there was only one machine."""


def belief(study: Study, table: pl.LazyFrame) -> Belief:
    """Judge a study. `table` is visits.parquet."""
    code = pl.col("verdict").str.split(",").alias("code")
    codes = table.filter(~pl.col("valid")).select(code).explode("code").group_by("code").len()
    reasons = dict(codes.collect(engine="streaming").iter_rows())
    found = bias_of_table(table, [s.name for s in study.visited])
    return Belief(
        rules=VERSION,
        limits=limits(study.thresholds),
        reasons=tuple(
            ReasonCount(code=code, visits=n, meaning=REASONS[code])
            for code, n in sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
        ),
        bias=tuple(found),
        sentence=sentence(found),
        machines=machine_words.sentence(machines(study, table)),
    )


def limits(used: Thresholds) -> tuple[ThresholdRow, ...]:
    """Return every threshold, ordered and worded as in the model."""
    meanings = docstrings(model)["Thresholds"]
    return tuple(
        ThresholdRow(
            name=name, value=value, default=getattr(DEFAULTS, name), meaning=meanings[name]
        )
        for name, value in structs.asdict(used).items()
    )
