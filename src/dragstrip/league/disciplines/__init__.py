"""The disciplines of the league, one TOML file each. docs/howto/league.md has their keys."""

from collections.abc import Iterator
from importlib import resources
from typing import Literal

import msgspec
from msgspec import Struct

from dragstrip.model.stack import ConnectionMode

ORDER = (
    "pages",
    "repeat",
    "loss",
    "bulk",
    "bulk-large",
    "priorities",
    "uploads",
    "early-data",
    "cpu-bytes",
    "cpu-requests",
)
"""Disciplines in the order of the page. Each has a file, and each becomes a capsule."""


class Discipline(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a discipline visits, and by which metric it ranks."""

    name: str
    title: str
    what: str
    """What the discipline measures, in one sentence."""
    pages: tuple[str, ...]
    networks: tuple[str, ...]
    metric: str
    """Metric by which the discipline ranks; lower is better. It is a name of
    `dragstrip.visit.metrics` or of an object's metric."""
    runs: int
    connections: tuple[ConnectionMode, ...] = ("first",)
    client: Literal["browser", "loader"] = "browser"
    real_time: bool = False
    """Whether the discipline runs in real time, one visit at a time, and only if it is named: it
    measures computing, which needs an idle machine."""
    per: Literal["", "MB", "request"] = ""
    """What the metric is also shown per, if the discipline has one page."""
    full: bool = False
    """Whether the discipline runs only at full scale."""
    takes_pages: bool = False
    """Whether pages that the user gives are visited too."""
    early_data: bool = False
    """Whether stacks use early data, if their servers support it."""
    about: tuple[str, ...] = ()
    """Settings that decide the discipline, by their names in `dragstrip.model.stack.NAMES`. A gap
    comes with those that differ."""
    goodput: bool = False
    """Whether times are also shown as Mbit/s of the page's bytes."""


def known() -> Iterator[Discipline]:
    """Yield every discipline, in `ORDER`."""
    folder = resources.files(__package__)
    for name in ORDER:
        table = msgspec.toml.decode(folder.joinpath(f"{name}.toml").read_bytes())
        yield msgspec.convert({**table, "name": name}, Discipline)
