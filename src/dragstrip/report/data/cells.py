"""The results of each cell (page, network, connection mode), as terminal and HTML show them."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

import polars as pl
from msgspec import Struct

from dragstrip.model.clock import REAL, Clock
from dragstrip.model.done import AT_LOAD, said_done
from dragstrip.model.network import Network
from dragstrip.model.page import Page
from dragstrip.model.stack import ConnectionMode, Stack
from dragstrip.model.study import Study
from dragstrip.model.visit import Outcome
from dragstrip.pages import corpus
from dragstrip.results.compare.stacks import compare_stacks
from dragstrip.results.compare.summary import Comparison
from dragstrip.results.observed import Observations, Observed, observed
from dragstrip.stats.median import Median, median


class StackResult(Struct, frozen=True, kw_only=True):
    """The result of one stack on a cell."""

    stack: Stack
    medians: dict[str, Median]
    """Median of each metric that has values, over the blocks that count. Censored loads count as
    the time limit."""
    against_first: dict[str, Comparison]
    """Ratio of each metric to the study's first stack; empty for that stack itself, or if no block
    counts."""
    loads: Observations
    """Page load times of the blocks that count, in the order of the blocks."""
    visits: int
    """Number of visits, including those of rerun attempts."""
    invalid: int
    reasons: Counter[str]
    """Number of visits by the code of each reason against them."""
    unended: Counter[tuple[Outcome, str]]
    """Number of censored loads by how they ended and by the browser's error."""
    dropped_up: float = 0
    """Number of packets that the upstream queue dropped while several connections opened at once,
    in the median visit that counts."""
    too_long: float = 0
    """Number of packets that the network's MTU dropped, in the median visit that counts."""
    sockets: float = 0
    """Number of the page's WebSockets in the median visit that counts."""
    sockets_beside: float = 0
    """Number of the page's WebSockets that used HTTP/1.1 although the stack has another
    protocol."""

    @property
    def censored(self) -> int:
        return int(self.loads.censored.sum())


class ReportCell(Struct, frozen=True, kw_only=True):
    page: Page
    network: Network
    connection: ConnectionMode = "first"
    clock: Clock = REAL
    slowdown: float = 1.0
    """How many times slower the client is than the machine."""
    seen: Observed
    results: tuple[StackResult, ...]

    @property
    def title(self) -> str:
        """The cell's title, such as ``demo over LTE, loaded at network-idle``."""
        predicted = any(r.stack.loaded_by.follows_graphs for r in self.results)
        place = cell_title(self.page.name, self.network.name, self.connection, self.clock)
        if self.slowdown > 1:
            place += f", client {self.slowdown:g} times slower"
        if self.page.done != AT_LOAD:
            place += f", loaded at {said_done(self.page.done)}"
        return f"{place}, predicted by the load generator" if predicted else place

    @property
    def counted(self) -> int:
        """Number of blocks that count."""
        return self.seen.counted

    @property
    def exact(self) -> bool:
        """Whether a load with the same seed is always the same: in virtual time, on a network
        without randomness."""
        steady = all(r.stack.loaded_by.steady for r in self.results)
        return self.clock.virtual and not self.network.chance and steady


def cell_title(page: str, network: str, connection: str, clock: Clock = REAL) -> str:
    """Return the title of a cell, such as ``demo over LTE``. It names connection mode and clock if
    they are not the defaults."""
    mode = "" if connection == "first" else f", {connection}"
    place = f"{corpus.label(page)} over {network}{mode}"
    return f"{place} in {clock.short}" if clock.virtual else place


def page_file(number: int, place: str) -> str:
    """Return the path of a cell's page from the report's folder. It contains the cell's number in
    the study, from 1, and its name."""
    slug = re.sub(r"[^A-Za-z0-9._]+", "-", place).strip("-")[:80]
    return f"cells/{number}-{slug}.html"


def cells(
    study: Study, table: pl.LazyFrame, metrics: Sequence[str] | None = None
) -> Iterator[ReportCell]:
    """Yield every cell of the study, even without visits.

    `table` is the table that `dragstrip.results.observed.observed` takes.
    """
    for seen in observed(study, table):
        yield ReportCell(
            page=study.page(seen.page),
            network=study.network(seen.network),
            clock=study.clock,
            slowdown=study.client.cpu_slowdown,
            connection=seen.connection,
            seen=seen,
            results=tuple(
                _result(seen, stack, study.stacks[0], metrics or seen.metrics)
                for stack in study.stacks
            ),
        )


def _result(seen: Observed, stack: Stack, first: Stack, metrics: Sequence[str]) -> StackResult:
    made = seen.visits.filter(pl.col("stack") == stack.name)
    invalid = made.filter(~pl.col("valid"))

    def middle(metric: str) -> float:
        found = seen.stacks[stack.name][metric].cast(pl.Float64).median()
        return found if isinstance(found, float) else 0

    known = {m: seen.of(stack.name, m).known for m in metrics}
    against = {
        m: c
        for m in metrics
        if stack != first and (c := compare_stacks(seen, first.name, stack.name, m))
    }
    return StackResult(
        stack=stack,
        medians={m: median(values.tolist()) for m, values in known.items() if len(values)},
        against_first=against,
        loads=seen.of(stack.name, "plt_ms"),
        visits=len(made),
        invalid=len(invalid),
        reasons=Counter(code for verdict in invalid["verdict"] for code in verdict.split(",")),
        unended=_unended(seen.stacks[stack.name]),
        dropped_up=middle("crowd_drops"),
        too_long=middle("too_long"),
        sockets=middle("sockets"),
        sockets_beside=middle("sockets_beside"),
    )


def _unended(visits: pl.DataFrame) -> Counter[tuple[Outcome, str]]:
    lost = visits.filter(pl.col("outcome") != "loaded")
    return Counter(zip(lost["outcome"], lost["error"], strict=True))
