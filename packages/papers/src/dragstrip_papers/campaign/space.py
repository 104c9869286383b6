"""Makes a frame of a paper's whole parameter space: one row per cell of its studies, run or not."""

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from dragstrip.pages import corpus
from dragstrip.pages.resolve import named
from dragstrip.schedule.estimate import visit_s
from dragstrip.study.spec import StudySpec
from dragstrip_papers.campaign.weight import weight
from dragstrip_papers.evidence import FACTORS, of_known, of_network
from dragstrip_papers.levels import AuditCount, Corpus
from dragstrip_papers.predicates import AnyPredicate, stacks_of
from dragstrip_papers.reached import looks_at

CELL = ("page", "network", "connection")
_FIELDS = ("study", *CELL, *FACTORS)


def space(specs: Iterable[StudySpec], parts: Mapping[str, str] | None = None) -> pl.DataFrame:
    """Return the space. Its columns are `study`, `CELL`, the factors of
    `dragstrip_papers.evidence`, `stacks`, and `block_s`, the expected seconds of one block. `parts`
    maps a stack to the name of the stack whose part it plays."""
    parts = parts or {}
    known = corpus.known()
    rows = [
        {
            "study": spec.name,
            "page": name,
            "network": network.name,
            "connection": connection,
            "stacks": [parts.get(s.name, s.name) for s in spec.stacks],
            "block_s": visit_s(*weighed, network, connection) * spec.visits_per_block,
            **of_known(known.get(page), *weighed),
            **of_network(network),
        }
        for spec in specs
        for page in spec.pages
        for name, weighed in [(named(page), weight(page))]
        for network in spec.networks
        for connection in spec.connections
    ]
    kinds: dict[str, Any] = {
        "stacks": pl.List(pl.String),
        "block_s": pl.Float64,
        "standin": pl.Boolean,
    }
    texts = dict.fromkeys(("study", *CELL), pl.String)
    return pl.DataFrame(rows, schema=texts | kinds | dict.fromkeys(FACTORS, pl.Float64))


def reach(predicate: AnyPredicate | None, cells: pl.DataFrame) -> pl.DataFrame:
    """Return the cells of a space that a predicate is about; none without a predicate."""
    if predicate is None:
        return cells.clear()
    if parts := getattr(predicate, "parts", None):
        return union([reach(part, cells) for part in parts])
    if isinstance(predicate, AuditCount):
        return cells.clear()
    named = stacks_of(predicate, cells["stacks"].explode().unique().to_list())
    cells = cells.filter(pl.col("stacks").list.set_intersection(named).list.len() == len(named))
    named_cells = cells.select(*_FIELDS).iter_rows(named=True)
    kept = [looks_at(predicate, row.get) for row in named_cells]
    rows = cells.filter(pl.Series(kept, dtype=pl.Boolean))
    if isinstance(predicate, Corpus):  # each page once, on the network where it is cheapest
        return rows.sort("block_s").unique("page", keep="first", maintain_order=True)
    return rows


def unhindered(cells: pl.DataFrame) -> pl.DataFrame:
    """Return the cells in which neither a rate nor a delay slows a load: only computing takes time
    in them."""
    return cells.filter(pl.col("rate_mbps").is_null() & (pl.col("rtt_ms").fill_null(0) == 0))


def union(frames: list[pl.DataFrame]) -> pl.DataFrame:
    """Join the frames; each cell is kept once."""
    return pl.concat(frames).unique(["study", *CELL], keep="first", maintain_order=True)
