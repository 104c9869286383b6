"""Describes campaigns that could answer claims: their cells, commands and cost."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from importlib import resources

import msgspec
import polars as pl
from msgspec import Struct, structs

from dragstrip_papers.campaign.pace import Pace
from dragstrip_papers.campaign.space import CELL, space
from dragstrip_papers.claims import published
from dragstrip_papers.overall.given import Way

_OPTIONS: Mapping[Way, tuple[str, ...]] = {
    "native": ("--native",),
    "browser": (),
    "virtual": ("--virtual", "--no-computing"),  # as all kept loads in virtual time
    "loader": ("--virtual", "--client loader"),
}
Cell = tuple[str, ...]
"""Study, page, network and connection."""


class Campaign(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Studies of a paper, and the number of blocks of each cell."""

    name: str
    """Name of the campaign's folder. Campaigns with the same name continue each other."""
    paper: str
    blocks: int
    way: Way
    says: str
    studies: tuple[str, ...] = ()
    """Names of studies; all studies if empty."""
    pages: tuple[str, ...] = ()
    """Pages that replace those of the studies; none replaced if empty."""
    networks: tuple[str, ...] = ()
    """Names of networks; all networks of the studies if empty."""
    controls_every: int = 1
    """Which blocks visit the controls: each Nth. Campaigns with the same name make one study, so
    they must have the same number."""

    def commands(self) -> list[str]:
        """Return the commands to run, one after the other."""
        folder = f"capsules/{self.name}"
        said = [f"dragstrip reproduce {self.paper}", *_OPTIONS[self.way]]
        said += [f"--study {name}" for name in self.studies]
        said += [f"--page '{page}'" if "*" in page else f"--page {page}" for page in self.pages]
        said += [f"--network {name}" for name in self.networks]
        said += [f"--controls-every {self.controls_every}"] if self.controls_every > 1 else []
        runs = published(self.paper).specs()[0].runs
        scale = "paper" if self.blocks == runs else f"{self.blocks}/{runs}"
        return [" ".join([*said, f"--scale {scale}", f"--out {folder}"])]

    def cells(self) -> pl.DataFrame:
        """Return the cells of `dragstrip_papers.campaign.space`, with `visited`, the number of
        visits in a block."""
        paper = published(self.paper)
        specs = (paper.native() if self.way == "native" else paper).specs()
        chosen = [
            structs.replace(o, controls_every=self.controls_every)
            for o in specs
            if o.name in self.studies or not self.studies
        ]
        globs = [page.replace("/", "-") for page in self.pages] or ["*"]
        cells = space(chosen).with_columns(
            visited=pl.col("study").replace_strict({o.name: o.visits_per_block for o in chosen})
        )
        over = pl.col("network").is_in(self.networks) if self.networks else True
        return cells.filter(over, [any(fnmatchcase(p, g) for g in globs) for p in cells["page"]])

    def costs(self, pace: Pace) -> dict[Cell, float]:
        """Return the seconds of one block of each cell, as the share that the block takes of the
        whole machine."""
        cells = self.cells()
        keys = cells.select("study", *CELL).iter_rows()
        return dict(zip(keys, cells.select(self._block_s(pace)).to_series(), strict=True))

    def _block_s(self, pace: Pace) -> pl.Expr:
        if self.way in ("browser", "native"):
            return pl.col("block_s") / pace.real_at_once
        visit = pace.visit_s(loader=self.way == "loader")
        return visit * pl.col("visited") / pace.cores


class _File(Struct, forbid_unknown_fields=True):
    campaign: list[Campaign]


def campaigns() -> list[Campaign]:
    """Read `campaigns.toml`."""
    text = resources.files("dragstrip_papers.overall").joinpath("campaigns.toml").read_bytes()
    return msgspec.toml.decode(text, type=_File).campaign
