"""Reads the observations of a study, by cell, from its table of visits.

This module decides which blocks count, and how a load counts that failed or timed out. For visits
in memory, `dragstrip.results.blocks` decides both.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np
import polars as pl
from msgspec import Struct
from numpy.typing import NDArray

from dragstrip.model.stack import ConnectionMode
from dragstrip.model.study import Study, block_id
from dragstrip.results.bias import EVERYWHERE, bias_of_table
from dragstrip.visit.metric import Metric
from dragstrip.visit.metrics import METRICS
from dragstrip.visit.objects import find_metric
from dragstrip.visit.transfer import TRANSFER

BY_NAME = {m.name: m for m in METRICS}
CELL_KEYS = ("page", "network", "connection")
COLUMNS = (
    *("row", "block", "attempt", "position", *CELL_KEYS, "stack", "seed", "started_us"),
    *("valid", "verdict", "reasons", "outcome", "error"),
    *("machine", "testbed"),
)
LATER: Mapping[str, object] = {"machine": "", "testbed": ""} | {m.name: None for m in TRANSFER}
"""Columns that older tables without a journal may lack, with their default values."""
ALLOWED_INVALID_BLOCKS = 0.05
"""Share of invalid blocks that is allowed. If more are invalid, the others may not be
representative."""
_CHUNK_VISITS = 100_000
"""Number of visits up to which pages are read together. Memory grows with this number, not with the
study."""

Floats = NDArray[np.float64]


class Observations(Struct, frozen=True):
    """A metric of one stack over the blocks that count, in their order."""

    values: Floats
    """Values by block. A value is NaN if the visit has none, and the client's time limit if the
    visit is censored."""
    censored: NDArray[np.bool_]

    @property
    def known(self) -> Floats:
        return self.values[~np.isnan(self.values)]


class Observed(Struct, frozen=True, kw_only=True, dict=True):
    """A cell: one page over one network in one connection mode."""

    page: str
    network: str
    connection: ConnectionMode
    visits: pl.DataFrame
    """Every visit, of all attempts, in the order they were made. The columns are `COLUMNS`, the
    metrics, and `counts`. Column `counts` is true for visits of the last attempt at a block if
    every compared stack was visited and every visit, including those of other stacks, is valid."""
    limit_ms: float
    """The client's time limit in ms, at which loads that failed or timed out are censored."""
    stacks: dict[str, pl.DataFrame]
    """Visits that count, by stack, in the order their blocks began."""
    metrics: tuple[str, ...] = tuple(BY_NAME)
    """Names of the metrics, which are columns of `visits`."""
    biased: bool = False
    """Whether some stacks have more invalid visits than others, on this cell or over all cells."""

    @property
    def name(self) -> str:
        """Name of the cell, as in block ids."""
        return block_id(self.page, self.network, self.connection, 0).rpartition("|")[0]

    @property
    def begun(self) -> int:
        return self.visits["block"].n_unique()

    @property
    def counted(self) -> int:
        """Number of blocks that count."""
        return next((len(rows) for rows in self.stacks.values()), 0)

    @property
    def spoiled(self) -> int:
        """Number of blocks whose last attempt has an invalid visit."""
        last = pl.col("attempt") == pl.col("attempt").max().over("block")
        return self.visits.filter(last & ~pl.col("valid"))["block"].n_unique()

    @cached_property
    def tallies(self) -> Mapping[str, tuple[int, int]]:
        """Number of visits and of invalid visits, by stack."""
        counts = self.visits.group_by("stack").agg(pl.len(), invalid=(~pl.col("valid")).sum())
        return {stack: (made, invalid) for stack, made, invalid in counts.iter_rows()}

    def seeds(self) -> list[int]:
        """Return the seeds of the link, one per block that counts."""
        return next((rows["seed"].to_list() for rows in self.stacks.values()), [])

    def values_of(self, visits: pl.DataFrame, metric: str) -> Floats:
        """Return the metric of these visits, infinite for a censored visit."""
        own = visits[metric].cast(pl.Float64).to_numpy()
        failed = (visits["outcome"] != "loaded").to_numpy()
        told = np.array([metric not in self._untold[s] for s in visits["stack"]], dtype=bool)
        return np.where(_censored(own, failed, metric) & told, np.inf, own)

    def of(self, stack: str, metric: str) -> Observations:
        values, failed = self._values[stack]
        own = values[:, self.metrics.index(metric)]
        censored = _censored(own, failed, metric) & (metric not in self._untold[stack])
        return Observations(np.where(censored, self.limit_ms, own), censored)

    @cached_property
    def _untold(self) -> Mapping[str, frozenset[str]]:
        """Metrics that a stack's loads lack although they ended, by stack: the browser does not
        measure them, or no frames were recorded. A failed load does not show which metrics those
        are."""
        ended = self.visits.filter(pl.col("outcome") == "loaded").group_by("stack")
        counts = ended.agg(pl.col(*self.metrics).count()).iter_rows(named=True)
        silent = {row.pop("stack"): frozenset(m for m in row if not row[m]) for row in counts}
        return defaultdict(frozenset, silent)

    @cached_property
    def _values(self) -> dict[str, tuple[Floats, NDArray[np.bool_]]]:
        """Values by stack, with one row per visit and one column per metric. The second array says
        of each visit whether its load did not end."""
        metrics = [pl.col(name).cast(pl.Float64) for name in self.metrics]
        return {
            stack: (rows.select(metrics).to_numpy(), (rows["outcome"] != "loaded").to_numpy())
            for stack, rows in self.stacks.items()
        }


def metrics_of(study: Study) -> dict[str, Metric]:
    """Return the metrics of the study's visits, by name: metrics that all visits have, then metrics
    of the study's objects."""
    return BY_NAME | {m.name: m for m in asked_metrics(study)}


def asked_metrics(study: Study) -> list[Metric]:
    """Return the metrics that the study names. Raises `InputError` for unknown names."""
    return list({m.name: m for m in map(find_metric, study.metrics)}.values())


def observed(
    study: Study, table: pl.LazyFrame, asked: Sequence[str] | None = None
) -> Iterator[Observed]:
    """Yield every cell of the study, page by page, even without visits.

    `table` is visits.parquet, with its row number as `row` (`dragstrip.results.tables.build.scan`).
    `asked` are the names of the stacks to compare; None means all stacks of the study without its
    controls.
    """
    names = [s.name for s in study.stacks] if asked is None else asked
    links_of = _links_by_page(study)
    wanted = list(dict.fromkeys([*COLUMNS, *metrics_of(study)]))
    biased_cells = frozenset(one.cell for one in bias_of_table(table) if one.shown)
    there = table.collect_schema().names()
    absent = [pl.lit(value).alias(name) for name, value in LATER.items() if name not in there]
    table = table.with_columns(absent)
    for pages in _chunks(study, table):
        rows = table.filter(pl.col("page").is_in(pages)).select(wanted)
        visits = _judged(rows.collect(engine="streaming"), names)
        found = visits.partition_by(*CELL_KEYS, as_dict=True)
        for page in pages:
            for network, connection in links_of[page]:
                own = found.get((page, network, connection), visits.clear())
                name = block_id(page, network, connection, 0).rpartition("|")[0]
                biased = bool(biased_cells & {EVERYWHERE, name})
                yield _cell(study, page, network, connection, own, names, biased=biased)


def _links_by_page(study: Study) -> Mapping[str, list[tuple[str, ConnectionMode]]]:
    """Map each page to the network and connection mode of its cells, in the study's order."""
    place = {network.name: i for i, network in enumerate(study.networks)}
    found: dict[str, list[tuple[str, ConnectionMode]]] = {page.name: [] for page in study.pages}
    for page, network, connection in study.cells():
        found[page].append((network, connection))
    for links in found.values():
        links.sort(key=lambda link: (place[link[0]], study.connections.index(link[1])))
    return found


def stayed_invalid(cells: Collection[Observed]) -> bool:
    """Return whether more than `ALLOWED_INVALID_BLOCKS` of the cells' blocks are spoiled."""
    begun = sum(cell.begun for cell in cells)
    return sum(cell.spoiled for cell in cells) > ALLOWED_INVALID_BLOCKS * begun


def _cell(
    study: Study,
    page: str,
    network: str,
    connection: ConnectionMode,
    visits: pl.DataFrame,
    names: Sequence[str],
    *,
    biased: bool,
) -> Observed:
    began = pl.col("row").min().over("block")
    counting = visits.with_columns(began=began).filter("counts").sort("began")
    by_stack = counting.partition_by("stack", as_dict=True)
    return Observed(
        page=page,
        network=network,
        connection=connection,
        visits=visits,
        limit_ms=study.client.timeout_s * 1000,
        stacks={name: by_stack.get((name,), counting.clear()) for name in names},
        metrics=tuple(metrics_of(study)),
        biased=biased,
    )


def _censored(values: Floats, failed: NDArray[np.bool_], metric: str) -> NDArray[np.bool_]:
    """Return which loads never reached the metric's time. If the metric needs the whole page, a
    time that the browser reports does not count: it belongs to another page."""
    kind = find_metric(metric)
    if not kind.waits:
        return np.zeros(len(values), dtype=bool)
    return np.asarray(failed & (np.isnan(values) | (not kind.early)))


def _judged(visits: pl.DataFrame, asked: Sequence[str]) -> pl.DataFrame:
    last = pl.col("attempt") == pl.col("attempt").max().over("block")
    made = (last & pl.col("stack").is_in(asked)).sum().over("block")
    spoiled = (last & ~pl.col("valid")).any().over("block")
    return visits.sort("row").with_columns(counts=last & (made == len(asked)) & ~spoiled)


def _chunks(study: Study, table: pl.LazyFrame) -> Iterator[list[str]]:
    sizes = dict(table.group_by("page").len().collect(engine="streaming").iter_rows())
    chunk: list[str] = []
    for page in study.pages:
        if chunk and sum(sizes.get(p, 0) for p in [*chunk, page.name]) > _CHUNK_VISITS:
            yield chunk
            chunk = []
        chunk.append(page.name)
    if chunk:
        yield chunk
