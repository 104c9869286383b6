"""Campaigns that could answer claims: what is run, by which commands, and at what cost."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from importlib import resources

import msgspec
import polars as pl
from msgspec import Struct

from dragstrip.papers.campaign.space import CELL, space
from dragstrip.papers.claims import published
from dragstrip.papers.overall.given import Way

_OPTIONS: Mapping[Way, tuple[str, ...]] = {
    "native": ("--native",),
    "browser": (),
    "virtual": ("--virtual",),
    "loader": ("--virtual", "--client loader"),
}
Cell = tuple[str, ...]
"""Study, page, network and connection."""


class Pace(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What visits cost a machine."""

    cores: int
    visit_cpu_s: float
    object_cpu_s: float
    mb_cpu_s: float
    """Of a visit of a browser in virtual time; a repeat visit moves its page twice."""
    real_at_once: float
    """Blocks in real time that run beside each other."""
    loader_share: float
    """The load generator's cost, as a share of a browser's in virtual time."""


class Campaign(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Studies of a paper, and how often each of their cells is run."""

    name: str
    """Of its folder: campaigns of one name continue each other."""
    paper: str
    blocks: int
    way: Way
    says: str
    studies: tuple[str, ...] = ()
    """All if empty."""
    pages: tuple[str, ...] = ()
    """Instead of those of the studies, if any."""

    def commands(self) -> list[str]:
        """What to give, one after the other."""
        folder = f"capsules/{self.name}"
        said = [f"dragstrip reproduce {self.paper}", *_OPTIONS[self.way]]
        said += [f"--study {name}" for name in self.studies]
        said += [f"--page '{page}'" if "*" in page else f"--page {page}" for page in self.pages]
        runs = published(self.paper).outlines()[0].runs
        scale = "paper" if self.blocks == runs else f"{self.blocks}/{runs}"
        return [" ".join([*said, f"--scale {scale}", f"--out {folder}"])]

    def cells(self) -> pl.DataFrame:
        """Of `dragstrip.papers.campaign.space`, with `visited`: how many stacks a block visits."""
        paper = published(self.paper)
        outlines = (paper.native() if self.way == "native" else paper).outlines()
        chosen = [o for o in outlines if o.name in self.studies or not self.studies]
        globs = [page.replace("/", "-") for page in self.pages] or ["*"]
        cells = space(chosen).with_columns(
            visited=pl.col("study").replace_strict({o.name: len(o.visited) for o in chosen})
        )
        return cells.filter([any(fnmatchcase(p, g) for g in globs) for p in cells["page"]])

    def costs(self, pace: Pace) -> dict[Cell, float]:
        """Seconds of one block of each cell, as much as it takes of the whole machine."""
        cells = self.cells()
        keys = cells.select("study", *CELL).iter_rows()
        return dict(zip(keys, cells.select(self._block_s(pace)).to_series(), strict=True))

    def _block_s(self, pace: Pace) -> pl.Expr:
        if self.way in ("browser", "native"):
            return pl.col("block_s") / pace.real_at_once
        moved = pl.when(pl.col("connection") == "first").then(1).otherwise(2)
        visit = (
            pace.visit_cpu_s
            + moved * pace.object_cpu_s * pl.col("objects").fill_null(1)
            + moved * pace.mb_cpu_s * pl.col("page_bytes") / 1e6
        )
        share = pace.loader_share if self.way == "loader" else 1.0
        return visit * pl.col("visited") * share / pace.cores


class _File(Struct, forbid_unknown_fields=True):
    pace: Pace
    campaign: list[Campaign]


def campaigns() -> tuple[Pace, list[Campaign]]:
    """From `campaigns.toml`."""
    text = resources.files("dragstrip.papers.overall").joinpath("campaigns.toml").read_bytes()
    read = msgspec.toml.decode(text, type=_File)
    return read.pace, read.campaign
