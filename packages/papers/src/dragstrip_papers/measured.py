"""Defines loads by cell, which predicates read. They come from a frame of loads, or are made up."""

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
import polars as pl
from msgspec import Struct
from numpy.typing import NDArray

Values = NDArray[np.float64]

CELL = ("study", "page", "network", "connection")


class Loads(Struct, frozen=True):
    """One stack's loads on a cell, in the order of their rounds."""

    rounds: NDArray[np.int64]
    """Index of each load's block."""
    values: Mapping[str, Values]
    """Values by metric; NaN if a load has no value."""
    censored: NDArray[np.bool_]
    """Whether each load never ended. The time of such a load is the client's limit."""


class Measured(Struct, frozen=True, kw_only=True):
    """A cell of one of a paper's studies with its loads."""

    study: str
    page: str
    network: str
    connection: str
    factors: Mapping[str, float]
    standin: bool
    stacks: Mapping[str, Loads]

    @property
    def key(self) -> "Key":
        return self.study, self.page, self.network, self.connection

    def field(self, name: str) -> str | float | None:
        """Return a text field of the cell, or one of its factors."""
        return getattr(self, name) if name in CELL else self.factors.get(name)


class DoubtfulCell(Struct, frozen=True):
    """Invalid visits of a cell in doubt, see `dragstrip_papers.answers.missing`."""

    invalid: Mapping[str, int]
    """Number of invalid visits by stack."""
    mostly: tuple[str, ...]
    """Stacks of which at least half of the visits are invalid."""


Key = tuple[str, str, str, str]
"""Study, page, network and connection of a cell."""


class Evidence(Struct, frozen=True, dict=True):
    loads: pl.DataFrame
    """One row per load, with the columns of `dragstrip_papers.evidence.SCHEMA`. `loss` is per
    direction, `rate_mbps` is the downstream rate."""
    audit: pl.DataFrame | None = None
    """One row per capture that others made, with the column `impossible`; see
    `dragstrip.audit.judge.AuditRow`."""
    made: tuple[Measured, ...] = ()
    """Cells that are not in the frame, because they are made up."""
    doubts: Mapping[Key, DoubtfulCell] = {}
    """Cells in doubt because of their invalid visits."""

    @cached_property
    def cells(self) -> tuple[Measured, ...]:
        """All cells, in the order in which the frame names them."""
        return self.made or tuple(_cells(self.loads))


def _cells(loads: pl.DataFrame) -> Sequence[Measured]:
    texts = {*CELL, "block", "stack", "censored", "standin"}
    numbers = [c for c, kind in loads.schema.items() if kind == pl.Float64 and c not in texts]
    factors = [c for c in numbers if not c.endswith("_ms") or c == "rtt_ms"]
    metrics = [c for c in numbers if c not in factors]
    index = pl.col("block").str.extract(r"(\d+)$").cast(pl.Int64)
    rows = loads.with_columns(index.alias("round")).sort("round", maintain_order=True)
    found: dict[tuple[object, ...], dict[str, pl.DataFrame]] = {}
    for key, own in rows.group_by(*CELL, "stack", maintain_order=True):
        found.setdefault(key[:4], {})[str(key[4])] = own
    order = loads.select(CELL).unique(maintain_order=True).iter_rows()
    return [_cell(key, found[key], factors, metrics) for key in order]


def _cell(
    key: tuple[object, ...],
    stacks: Mapping[str, pl.DataFrame],
    factors: Sequence[str],
    metrics: Sequence[str],
) -> Measured:
    first = next(iter(stacks.values())).row(0, named=True)
    study, page, network, connection = (str(text) for text in key)
    return Measured(
        study=study,
        page=page,
        network=network,
        connection=connection,
        factors={f: first[f] for f in factors if first[f] is not None},
        standin=bool(first["standin"]),
        stacks={
            stack: Loads(
                rounds=own["round"].to_numpy(),
                values={m: own[m].fill_null(np.nan).to_numpy() for m in metrics},
                censored=own["censored"].to_numpy(),
            )
            for stack, own in stacks.items()
        },
    )
