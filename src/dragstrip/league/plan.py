"""Turns disciplines and entries into studies, one per discipline."""

import shlex
from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import ceil
from pathlib import Path

from msgspec import Struct, structs

from dragstrip.conduct.options import RunOptions
from dragstrip.execution.by_clock import concurrency_of
from dragstrip.league.disciplines import Discipline, known
from dragstrip.league.entries import Entry, in_discipline
from dragstrip.model.errors import InputError
from dragstrip.model.study import Study
from dragstrip.results.capsule import MANIFEST, Capsule
from dragstrip.schedule.scale import share_of
from dragstrip.schedule.schedule import Schedule
from dragstrip.study.clients import loaded_by
from dragstrip.study.presets import find_network, suggest
from dragstrip.study.spec import StudySpec

LEAST_RUNS = 5
"""Fewest blocks of a cell: fewer have no interval, so no rank."""
SMALL = "small"
CONFORMANCE = "conformance"
"""The points of `dragstrip servers check`, chosen like a discipline."""
_SMOKE = "smoke"


class LeagueRequest(Struct, frozen=True, kw_only=True):
    """What the user requests of a league."""

    family: str = "h3"
    scale: str = "paper"
    disciplines: tuple[str, ...] = ()
    """Names of disciplines, and `CONFORMANCE`; empty means all in virtual time."""
    pages: tuple[str, ...] = ()
    """Pages of the user, such as a recording."""
    seed: int = 0

    @property
    def conform(self) -> bool:
        """Whether servers are checked too."""
        return CONFORMANCE in self.disciplines or not (self.disciplines or self.scale == _SMOKE)


class Cost(Struct, frozen=True, kw_only=True):
    visits: int
    """Number of visits that are left."""
    seconds: float


def chosen(asked: LeagueRequest) -> list[Discipline]:
    """Return the disciplines to run, each at its scale. Raises `InputError` for an unknown name."""
    every = {d.name: d for d in known()}
    for name in asked.disciplines:
        if name not in (names := (*every, CONFORMANCE)):
            raise InputError(
                f"unknown discipline {name!r}{suggest(name, names)}; choose from {', '.join(names)}"
            )
    share = Fraction(1) if asked.scale == SMALL else share_of(asked.scale)
    whole = asked.scale != SMALL and share is not None and share >= 1
    wanted = [
        d
        for d in every.values()
        if (d.name in asked.disciplines if asked.disciplines else _usual(d, whole=whole))
    ]
    return [_scaled(d, asked, share) for d in wanted]


def _usual(discipline: Discipline, *, whole: bool) -> bool:
    """Return whether a discipline runs in a league that names none."""
    return not discipline.real_time and (whole or not discipline.full)


def _scaled(discipline: Discipline, asked: LeagueRequest, share: Fraction | None) -> Discipline:
    given = asked.pages if discipline.takes_pages else ()
    if share is None:
        pages, networks = discipline.pages[:1], discipline.networks[:1]
        return structs.replace(discipline, pages=pages, networks=networks, runs=1)
    if asked.scale == SMALL:
        pages, networks = (*discipline.pages[:1], *given), discipline.networks[:1]
        return structs.replace(discipline, pages=pages, networks=networks, runs=LEAST_RUNS)
    runs = max(LEAST_RUNS, ceil(discipline.runs * share))
    return structs.replace(discipline, pages=(*discipline.pages, *given), runs=runs)


def options_of(discipline: Discipline, options: RunOptions) -> RunOptions:
    """Return the options with which to run a discipline of a league that has these."""
    return structs.replace(options, computing=None, jobs=1) if discipline.real_time else options


def study_of(
    discipline: Discipline,
    entries: Sequence[Entry],
    asked: LeagueRequest,
    options: RunOptions,
    cache: Path,
) -> Study:
    """Return the study of a discipline. Raises `InputError`, for example with fewer than two
    entries."""
    stacks = [in_discipline(entry, early_data=discipline.early_data) for entry in entries]
    metrics = (discipline.metric,) if discipline.metric.startswith("object:") else ()
    spec = StudySpec(
        name=f"league-{asked.family}-{discipline.name}",
        pages=discipline.pages,
        networks=[find_network(name) for name in discipline.networks],
        stacks=loaded_by(stacks, discipline.client),
        connections=discipline.connections,
        runs=discipline.runs,
        seed=asked.seed,
        metrics=metrics,
        clock=options_of(discipline, options).clock,
    )
    return spec.resolve(cache)


def cost_of(study: Study, out: Path, options: RunOptions) -> Cost:
    """Count the visits that the capsule in `out` lacks, and estimate the time that they take."""
    visits = list(Capsule.open(out).visits()) if (out / MANIFEST).exists() else []
    schedule = Schedule(study, visits)
    concurrency = concurrency_of(study, options.jobs_here(study.clock), visits)
    return Cost(visits=schedule.visits_left(), seconds=concurrency.seconds(schedule.left))


def why_commands(
    discipline: Discipline, leader: str, entries: Sequence[str], capsule: Path
) -> Iterator[tuple[str, str]]:
    """Yield, for each entry behind the leader, its name and a `dragstrip why` command that explains
    the gap. The command reads the stacks from the capsule, because a discipline may change the
    entries' stacks."""
    more = [] if discipline.metric == "plt_ms" else ["--metric", discipline.metric]
    for name in entries:
        words = ["dragstrip", "why", str(capsule), "--stack", leader, "--stack", name, *more]
        yield name, shlex.join(words)
