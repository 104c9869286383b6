"""Computes the cost of visits in virtual time on a machine. Only computing counts, however long a
load lasts."""

from functools import cache
from importlib import resources

import msgspec
import polars as pl
from msgspec import Struct


class Pace(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The cost of visits on a machine."""

    cores: int
    visit_cpu_s: float
    object_cpu_s: float
    mb_cpu_s: float
    """CPU seconds of a browser's visit in virtual time, per megabyte. A repeat visit transfers its
    page twice."""
    slow_mb_cpu_s: float
    """Additional CPU seconds per megabyte on slow lines, where packets come one by one. The cost
    holds up to `slow_mbps` downstream, and falls in proportion on faster lines."""
    slow_mbps: float
    real_at_once: float
    """Number of blocks that run in parallel in real time."""
    loader_share: float
    """The load generator's cost, as a share of a browser's in virtual time."""

    def visit_s(self, *, loader: bool) -> pl.Expr:
        """Return the CPU seconds of one visit in virtual time to each cell of a
        `dragstrip_papers.campaign.space`."""
        moved = pl.when(pl.col("connection") == "first").then(1).otherwise(2)
        slow = (self.slow_mbps / pl.col("rate_mbps")).clip(upper_bound=1).fill_null(0)
        visit = (
            self.visit_cpu_s
            + moved * self.object_cpu_s * pl.col("objects").fill_null(1)
            + moved * (self.mb_cpu_s + slow * self.slow_mb_cpu_s) * pl.col("page_bytes") / 1e6
        )
        return visit * (self.loader_share if loader else 1.0)


@cache
def pace() -> Pace:
    """Read `pace.toml`."""
    text = resources.files("dragstrip_papers.campaign").joinpath("pace.toml").read_bytes()
    return msgspec.toml.decode(text, type=Pace)
