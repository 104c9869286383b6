"""Writes the league's numbers in words, for page and table alike."""

from collections.abc import Iterable

from dragstrip.league.plan import LEAST_RUNS
from dragstrip.league.result import DisciplineResult, GapCause, LeagueResult
from dragstrip.league.standings import Standing
from dragstrip.model.clock import Clock
from dragstrip.report.words.numbers import DASH, amount, counted, interval, percent

HOW = (
    "A ratio compares with the fastest. Its 95 % interval holds for these pages and networks. A "
    "server is ahead of another if it is shown to be faster by more than 1 %, at 5 % with Holm's "
    "correction over all pairs of the discipline. Servers that the data do not separate share a "
    "rank.",
    f"A rank needs {LEAST_RUNS} blocks. A pair with many invalid visits counts as not separated.",
)


SEEN = "What is known of these servers, and what the traffic of their visits points to:"
"""Heading of the sentences of `seen`."""


def seen(causes: Iterable[GapCause]) -> list[str]:
    """List what the traffic of gaps points to, each sentence once."""
    return list(dict.fromkeys(said for cause in causes for said in cause.seen))


def basis(found: LeagueResult) -> str:
    """Say clock, scale and number of visits in one sentence."""
    return (
        f"{counted(found.visits, 'visit')}, {found.invalid} of them invalid "
        f"({percent(found.invalid / found.visits if found.visits else 0)}), in "
        f"{Clock(kind=found.clock).short}; scale "
        f"{found.scale}, seed {found.seed}, rules {found.rules}, {found.hours:.1f} hours"
    )


def where(one: DisciplineResult) -> str:
    """Name pages, networks, connections, blocks and client of a discipline."""
    visits = "repeat visits" if one.connections == ("repeat",) else "first visits"
    client = "the load generator" if one.client == "loader" else "a browser"
    real = "; in real time" if one.real_time else ""
    return (
        f"{', '.join(one.pages)} over {', '.join(one.networks)}; {visits} by {client}; "
        f"{counted(one.runs, 'block')} per cell; capsule {one.capsule}{real}"
    )


def value(one: DisciplineResult, standing: Standing) -> str:
    """Write the mean of the metric, with goodput or its share per MB or request if the discipline
    shows it."""
    said = amount(standing.value, one.unit)
    if one.megabits and standing.value and len(one.networks) == 1:
        said += f", {one.megabits / standing.value * 1000:.3g} Mbit/s"
    if one.amount and standing.value:
        said += f", {_fine(standing.value / one.amount)} per {one.per}"
    return said


def _fine(ms: float) -> str:
    return f"{ms:.2f} ms" if ms >= 1 else f"{ms * 1000:.0f} \N{MICRO SIGN}s"


def ratio(standing: Standing) -> str:
    if standing.ratio is None:
        return standing.said or DASH
    return (
        "1"
        if standing.ratio == 1 and standing.low is None and standing.best
        else interval(standing.ratio, standing.low, standing.high)
    )


def invalid(standing: Standing) -> str:
    return f"{standing.invalid} of {standing.visits}"
