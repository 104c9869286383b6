"""The object that ``--json`` prints. Its field names are a contract; fields may only be added."""

from collections.abc import Iterable, Sequence
from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from dragstrip.model.addresses import Addresses, servers
from dragstrip.model.clock import ClockKind
from dragstrip.model.page import Page
from dragstrip.model.stack import ConnectionMode
from dragstrip.model.visit import Outcome, Reason, Visit
from dragstrip.results.bias import Bias, bias
from dragstrip.results.bounds import Bound
from dragstrip.results.compare.controls import Control
from dragstrip.results.compare.restarts import Between
from dragstrip.results.compare.stopping import Saving
from dragstrip.stats.spread import Statistic
from dragstrip.verdict.rules import VERSION


class Comparison(Struct, frozen=True, kw_only=True):
    """Stack `b` against stack `a` in one metric, on one page and network."""

    a: str
    b: str
    metric: str
    """A name of `dragstrip.visit.metrics.METRICS`."""
    ratio: float
    """Median over blocks of b / a: below 1, `b` is faster. Infinite (null) if most loads of `b`
    failed, 0 if most of `a` did."""
    low: float | None
    high: float | None
    """Upper end of the 95 % confidence interval of `ratio`; both ends are None with fewer than five
    blocks. In JSON, null at one end and a number at the other means that the first end is
    infinite."""
    n: int
    """Number of blocks that count."""
    page: str
    network: str
    censored: int
    """Number of blocks of `n` in which a load of `a` or `b` failed or timed out. Such a load has
    the worst rank."""
    none_ended: bool = False
    """Whether no load of `a` or `b` ended. Then there is no time to compare, and `ratio` is 1."""
    connection: ConnectionMode = "first"
    also_differ: tuple[str, ...] = ()
    """Differences of `b` from `a` besides the protocol, such as ``initial window 32 against 10``;
    `dragstrip why` says how much of the ratio each difference explains."""
    bound: Bound | None = None
    """Bounds of the ratio for the missing visits, if invalid visits affect stacks unequally or
    affect many visits of a stack. Then the bounds decide, not the interval."""

    between: tuple[Between, ...] | UnsetType = UNSET
    """The spread over machines, boots and restarts; left out if there were fewer than three of
    each, or if a load failed."""

    @property
    def least(self) -> float | None:
        """Lower end of the ratio's range: of `bound` if there is one, else of the 95 % interval.
        None without an interval, even if there is a bound."""
        return self.low if self.low is None or self.bound is None else self.bound.low

    @property
    def most(self) -> float | None:
        return self.high if self.high is None or self.bound is None else self.bound.high


class Spread(Struct, frozen=True, kw_only=True):
    """Stack `b` against stack `a` in how its page load times spread, on one page and network."""

    a: str
    b: str
    metric: str
    statistic: Statistic
    """95th percentile (`p95`) or interquartile range (`iqr`)."""
    ratio: float
    low: float | None
    high: float | None
    """Upper end of the 95 % confidence interval of `ratio`; None with too few loads
    (`dragstrip.stats.spread`)."""
    n: int
    page: str
    network: str
    connection: ConnectionMode = "first"


class VisitLine(Struct, frozen=True, kw_only=True):
    """A visit in the output of ``--json``. The capsule has all its evidence."""

    block: str
    attempt: int
    position: int
    stack: str
    page: str
    network: str
    verdict: str
    reasons: tuple[Reason, ...]
    outcome: Outcome
    error: str
    protocol_share: dict[str, float]
    plt_ms: float | None
    ttfb_ms: float | None
    fcp_ms: float | None
    requests: int
    bytes: int
    connection: ConnectionMode = "first"

    @property
    def valid(self) -> bool:
        return not self.reasons


class PageAddresses(Struct, frozen=True, kw_only=True):
    """Number of addresses of a page's hosts. If it is less than the number of hosts, some hosts
    share an address."""

    page: str
    hosts: int
    addresses: int


class Summary(Struct, frozen=True, kw_only=True):
    study: str
    clock: ClockKind
    """The clock of all times: ``real``, or virtual (`dragstrip.model.clock.Clock`)."""
    client: Literal["browser", "loader"] = "browser"
    """The client that loaded the pages. Results of the load generator (``loader``) are
    predictions."""
    pages: tuple[PageAddresses, ...] = ()
    rules: int
    """The `dragstrip.verdict.rules.VERSION` by which the visits were judged."""
    blocks: int
    """Number of blocks begun, whether or not they count."""
    visits: tuple[VisitLine, ...]
    """Every visit, including those of invalid attempts."""
    comparisons: tuple[Comparison, ...]
    spreads: tuple[Spread, ...] = ()
    """Spreads of page load time."""
    controls: tuple[Control, ...] | UnsetType = UNSET
    """Results of the controls; left out for a study without controls."""
    stopping: Saving | UnsetType = UNSET
    """The blocks saved by stopping early; left out for a study that does not stop early."""
    invalid_rates: tuple[Bias, ...]
    """Invalid rates of the cells with an invalid visit, and whether some stacks are affected
    more."""


def summarise(
    study: str,
    visits: Iterable[Visit],
    comparisons: Iterable[Comparison],
    controls: Sequence[Control] = (),
    stopping: Saving | None = None,
    spreads: Iterable[Spread] = (),
    clock: ClockKind = "real",
    client: Literal["browser", "loader"] = "browser",
    pages: Sequence[Page] = (),
    addresses: Addresses = "one-each",
) -> Summary:
    """Make the summary. `comparisons`, `controls` and `stopping` come from the modules of these
    names in `dragstrip.results.compare`. Only one of the `visits` is in memory at a time."""
    lines = tuple(map(_line, visits))
    return Summary(
        study=study,
        clock=clock,
        client=client,
        pages=tuple(
            PageAddresses(
                page=page.name, hosts=len(page.hosts), addresses=len(servers(page, addresses))
            )
            for page in pages
        ),
        rules=VERSION,
        blocks=len({line.block for line in lines}),
        visits=lines,
        comparisons=tuple(comparisons),
        spreads=tuple(spreads),
        controls=tuple(controls) or UNSET,
        stopping=stopping or UNSET,
        invalid_rates=tuple(bias(lines, list(dict.fromkeys(line.stack for line in lines)))),
    )


def _line(visit: Visit) -> VisitLine:
    return VisitLine(
        block=visit.block,
        attempt=visit.attempt,
        position=visit.position,
        stack=visit.stack,
        page=visit.page,
        network=visit.network,
        verdict=visit.verdict,
        reasons=visit.reasons,
        outcome=visit.outcome,
        error=visit.error,
        protocol_share=visit.protocol_share,
        plt_ms=visit.plt_ms,
        ttfb_ms=visit.ttfb_ms,
        fcp_ms=visit.fcp_ms,
        requests=len(visit.requests),
        bytes=visit.wire_bytes,
        connection=visit.connection,
    )
