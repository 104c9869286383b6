"""Makes a table of the visited cells of a sampled study, one row each: their factors and load
times."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dragstrip.model.study import Study
from dragstrip.results.capsule import Capsule
from dragstrip.results.tables.build import refresh, scan

SAMPLED_FACTORS = ("down_mbps", "rtt_ms", "loss", "queue_ms", "page_bytes", "objects")
"""Columns with factors. `loss` is per direction, `page_bytes` counts all bodies, and `objects`
leaves out the document."""


def made_cells(capsule: Capsule) -> pl.DataFrame:
    """Return cells in the order of the sample. Columns: `number` from 0, `page`, `network`,
    `SAMPLED_FACTORS`, and for each stack `plt_ms_STACK`, null if the load did not end in time.

    A cell counts if every visit of the last attempt at its first block is valid.
    """
    refresh(capsule)
    study = capsule.manifest.study
    visits = (
        scan(capsule, "visits")
        .select("block", "attempt", "stack", "page", "network", "valid", "outcome", "plt_ms")
        .collect()
    )
    return cells_of(study, visits)


def cells_of(study: Study, visits: pl.DataFrame) -> pl.DataFrame:
    """Return the cells of a table of visits, with the columns of `made_cells`."""
    stacks = [stack.name for stack in study.stacks]
    last = pl.col("attempt") == pl.col("attempt").max().over("block")
    counts = (pl.len().over("block") == len(stacks)) & pl.col("valid").all().over("block")
    ended = pl.when(pl.col("outcome") == "loaded").then(pl.col("plt_ms"))
    wide = (
        visits.filter(last & pl.col("stack").is_in(stacks))
        .filter(counts)
        .with_columns(ended.alias("plt_ms"))
        .pivot(on="stack", index=["page", "network"], values="plt_ms", aggregate_function="first")
    )
    wide = wide.rename({s: f"plt_ms_{s}" for s in stacks if s in wide.columns})
    missing = [f"plt_ms_{s}" for s in stacks if f"plt_ms_{s}" not in wide.columns]
    wide = wide.with_columns(pl.lit(None, pl.Float64).alias(name) for name in missing)
    order = ["number", "page", "network", *SAMPLED_FACTORS, *(f"plt_ms_{s}" for s in stacks)]
    return pl.DataFrame(_places(study)).join(wide, on=["page", "network"]).select(order)


def _places(study: Study) -> list[dict[str, Any]]:
    weights = {p.name: (p.body_bytes, len(p.resources) - 1) for p in study.pages}
    found = []
    for number, (page, network, _) in enumerate(study.cells()):
        link = study.network(network)
        found.append(
            {
                "number": number,
                "page": page,
                "network": network,
                "down_mbps": link.down.rate_mbps,
                "rtt_ms": link.rtt_ms,
                "loss": link.down.mean_loss,
                "queue_ms": link.down.queue_ms,
                "page_bytes": weights[page][0],
                "objects": weights[page][1],
            }
        )
    return found


def ratios(cells: pl.DataFrame, a: str, b: str) -> NDArray[np.float64]:
    """Return the load time of `b` over that of `a`, cell by cell. The ratio is 0 if only `a` did
    not end, infinite if only `b` did not, and not a number if neither ended."""
    of_a, of_b = (cells[f"plt_ms_{s}"].cast(pl.Float64).to_numpy() for s in (a, b))
    lost_a, lost_b = np.isnan(of_a), np.isnan(of_b)
    with np.errstate(invalid="ignore"):
        found = of_b / of_a
    found = np.where(lost_a & ~lost_b, 0.0, found)
    return np.where(lost_b & ~lost_a, np.inf, found)


def spots(cells: pl.DataFrame, many: int, seed: int) -> Sequence[tuple[str, str]]:
    """Return the page and network of some visited cells, drawn at random."""
    drawn = cells.sample(min(many, len(cells)), seed=seed, shuffle=True)
    return list(drawn.select("page", "network").iter_rows())
