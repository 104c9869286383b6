"""What terminal and HTML both show of each (page, network, connection mode): numbers, not looks."""

from collections.abc import Sequence

from msgspec import Struct

from dragstrip.model.network import Network
from dragstrip.model.page import Page
from dragstrip.model.stack import ConnectionMode, Stack
from dragstrip.model.study import Study
from dragstrip.model.visit import ReasonCode, Visit
from dragstrip.results.blocks import METRICS, Metric, Observation, Trial, observe, trials
from dragstrip.results.blocks import cells as trials_by_cell
from dragstrip.results.compare import compare
from dragstrip.results.summary import Comparison
from dragstrip.stats.median import Median, median


class StackResult(Struct, frozen=True, kw_only=True):
    """One stack on one page and network."""

    stack: Stack
    medians: dict[Metric, Median | None]
    """Over the blocks that count, censored loads at the limit; None without any."""
    against_first: dict[Metric, Comparison | None]
    """Ratio to the study's first stack; None for that stack itself and without blocks."""
    loads: tuple[Observation, ...]
    """Page load times of the blocks that count, in their order."""
    typical: Visit | None
    """The visit of median page load time (the lower of two)."""
    visits: int
    """All of them, rerun attempts included."""
    invalid: int
    reasons: tuple[ReasonCode, ...]
    """Why visits were invalid, each code once for each visit it struck."""

    @property
    def censored(self) -> int:
        return sum(load.censored for load in self.loads)


class Cell(Struct, frozen=True, kw_only=True):
    page: Page
    network: Network
    connection: ConnectionMode = "first"
    trials: tuple[Trial, ...]
    counted: int
    results: tuple[StackResult, ...]
    comparisons: tuple[Comparison, ...]
    """Of page load time, between every two stacks."""

    @property
    def where(self) -> str:
        place = f"{self.page.name} over {self.network.name}"
        return place if self.connection == "first" else f"{place}, {self.connection}"


def cells(study: Study, visits: Sequence[Visit]) -> list[Cell]:
    """Every page on every network and mode of the study, also those without a visit."""
    comparisons = compare(study, visits)
    found = trials_by_cell(trials(visits, [s.name for s in study.stacks]))

    def cell(page: Page, network: Network, connection: ConnectionMode) -> Cell:
        key = page.name, network.name, connection
        return _cell(
            study,
            page,
            network,
            connection,
            [v for v in visits if (v.page, v.network, v.connection) == key],
            found.get(key, []),
            [c for c in comparisons if (c.page, c.network, c.connection) == key],
        )

    return [
        cell(page, network, connection)
        for page in study.pages
        for network in study.networks
        for connection in study.connections
    ]


def _cell(
    study: Study,
    page: Page,
    network: Network,
    connection: ConnectionMode,
    visits: list[Visit],
    found: list[Trial],
    comparisons: list[Comparison],
) -> Cell:
    limit_ms = study.client.timeout_s * 1000
    good = [t for t in found if t.counts]

    def result(stack: Stack) -> StackResult:
        own = [t.visits[stack.name] for t in good]
        observed = {m: [o for v in own if (o := observe(v, m, limit_ms))] for m in METRICS}
        against = {
            c.metric: c for c in comparisons if (c.a, c.b) == (study.stacks[0].name, stack.name)
        }
        made = [v for v in visits if v.stack == stack.name]
        return StackResult(
            stack=stack,
            medians={m: _median(observed[m]) for m in METRICS},
            against_first={m: against.get(m) for m in METRICS},
            loads=tuple(observed["plt_ms"]),
            typical=_typical(own, limit_ms),
            visits=len(made),
            invalid=sum(not v.valid for v in made),
            reasons=tuple(code for v in made for code in sorted({r.code for r in v.reasons})),
        )

    return Cell(
        page=page,
        network=network,
        connection=connection,
        trials=tuple(found),
        counted=len(good),
        results=tuple(result(s) for s in study.stacks),
        comparisons=tuple(c for c in comparisons if c.metric == "plt_ms"),
    )


def _median(observed: list[Observation]) -> Median | None:
    return median([o.value_ms for o in observed]) if observed else None


def _typical(visits: list[Visit], limit_ms: float) -> Visit | None:
    def load(visit: Visit) -> float:
        seen = observe(visit, "plt_ms", limit_ms)
        return seen.value_ms if seen else limit_ms

    return sorted(visits, key=load)[(len(visits) - 1) // 2] if visits else None
