"""Runs a league into a folder: one capsule per discipline, so a league that was killed resumes.

admission/NAME/     one visit per server: does it serve here at all?
trial/DISCIPLINE/   one block: which servers cannot do this discipline?
DISCIPLINE/         its capsule, for report, rejudge and why
conformance/        the findings of `dragstrip servers check` per server
spent.json          seconds spent per discipline
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec import Struct, structs

from dragstrip.conduct.conformance import ConformanceResult, conformance
from dragstrip.conduct.options import RunOptions
from dragstrip.conduct.visits import make_visits
from dragstrip.conduct.watcher import Watcher
from dragstrip.league.disciplines import Discipline
from dragstrip.league.entries import Absent, Entry, admitted
from dragstrip.league.plan import LeagueRequest, options_of, study_of
from dragstrip.model.clock import Clock
from dragstrip.model.errors import DragstripError, InputError
from dragstrip.model.study import Study
from dragstrip.pages.generators.ranges import ranges_page
from dragstrip.pages.resolve import resolve
from dragstrip.results.capsule import Capsule

SPENT = "spent.json"
_TRIAL = "trial"
_CONFORMANCE = "conformance"
_UNHEARD = Watcher()


class DisciplineRun(Struct, frozen=True, kw_only=True):
    """A discipline that was run."""

    discipline: Discipline
    capsule: Path
    study: Study | None
    """The discipline's study; None if it could not run."""
    left_out: tuple[Absent, ...] = ()
    said: str = ""
    """Why the discipline could not run, or did not end; empty if it did."""


class League(Struct, frozen=True, kw_only=True):
    """A league that was run; `dragstrip.league.result` reads it."""

    asked: LeagueRequest
    out: Path
    entries: tuple[Entry, ...]
    absent: tuple[Absent, ...]
    ran: tuple[DisciplineRun, ...]
    conformance: dict[str, tuple[ConformanceResult, ...] | str]
    """Results of the server checks by entry. A text says why there are none."""
    spent_s: float
    clock: Clock


def run(
    asked: LeagueRequest,
    disciplines: Sequence[Discipline],
    entries: Sequence[Entry],
    options: RunOptions,
    cache: Path,
    *,
    absent: Sequence[Absent] = (),
    conform: bool = False,
    watcher: Watcher = _UNHEARD,
    say: Callable[[str], None] = lambda line: None,
) -> League:
    """Run what the folder `options.out` lacks. `say` is called with one line per step. With
    `conform`, servers are also checked. Raises `InputError`; a discipline that fails does not stop
    the others."""
    out = options.out
    assert out
    out.mkdir(parents=True, exist_ok=True)
    say("admission: one visit per server")
    with _spending(out, "admission"):
        there, refused = admitted(entries, options, cache)
    ran = []
    for discipline in disciplines:
        say(f"{discipline.title}: {discipline.what}")
        with _spending(out, discipline.name):
            ran.append(_discipline(discipline, there, asked, options, cache, watcher))
    found: dict[str, tuple[ConformanceResult, ...] | str] = {}
    if conform:
        say("Conformance: the points of `dragstrip servers check`")
        with _spending(out, _CONFORMANCE):
            found = {entry.name: _checked(entry, out, cache) for entry in there}
    spent = _spent(out)
    return League(
        asked=asked,
        out=out,
        entries=tuple(there),
        absent=(*absent, *refused),
        ran=tuple(ran),
        conformance=found,
        spent_s=sum(spent.values()),
        clock=options.clock,
    )


def _discipline(
    discipline: Discipline,
    entries: Sequence[Entry],
    asked: LeagueRequest,
    options: RunOptions,
    cache: Path,
    watcher: Watcher,
) -> DisciplineRun:
    assert options.out
    capsule = options.out / discipline.name
    trial = options.out / _TRIAL / discipline.name
    options = options_of(discipline, options)
    study = None
    left_out: tuple[Absent, ...] = ()
    try:
        study = study_of(discipline, entries, asked, options, cache)
        if discipline.runs > 1:
            left_out = _unfit(study, trial, options)
            names = {one.server for one in left_out}
            able = [entry for entry in entries if entry.name not in names]
            study = study_of(discipline, able, asked, options, cache)
        make_visits(study, capsule, structs.replace(options, out=capsule), watcher=watcher)
    except InputError as error:
        if study and capsule.exists():
            raise
        return DisciplineRun(
            discipline=discipline, capsule=capsule, study=None, left_out=left_out, said=str(error)
        )
    except DragstripError as error:
        return DisciplineRun(
            discipline=discipline, capsule=capsule, study=study, left_out=left_out, said=str(error)
        )
    return DisciplineRun(discipline=discipline, capsule=capsule, study=study, left_out=left_out)


def _unfit(study: Study, trial: Path, options: RunOptions) -> tuple[Absent, ...]:
    """Return the entries whose visits stay invalid in a block of the discipline. They would spoil
    the blocks of all others."""
    one = structs.replace(study, runs=1, only=tuple(study.cells()[:1]))
    make_visits(one, trial, structs.replace(options, out=trial))
    visits = list(Capsule.open(trial).visits())
    last = [v for v in visits if v.attempt == max(v.attempt for v in visits)]
    return tuple(
        Absent(server=v.stack, why="; ".join(r.detail for r in v.reasons))
        for v in last
        if v.reasons
    )


def _checked(entry: Entry, out: Path, cache: Path) -> tuple[ConformanceResult, ...] | str:
    file = out / _CONFORMANCE / f"{entry.name}.json"
    if file.exists():
        return msgspec.json.decode(file.read_bytes(), type=tuple[ConformanceResult, ...])
    server = structs.replace(entry.stack.serving, protocols=(entry.stack.protocol,))
    try:
        found = tuple(conformance(server, resolve("demo", cache), ranges_page(cache)))
    except DragstripError as error:
        return str(error)
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(msgspec.json.encode(found))
    return found


def _spent(out: Path) -> dict[str, float]:
    file = out / SPENT
    return msgspec.json.decode(file.read_bytes(), type=dict[str, float]) if file.exists() else {}


@contextmanager
def _spending(out: Path, name: str) -> Iterator[None]:
    """Add the duration of the context to the time spent on `name`, even if the context is
    interrupted."""
    began = time.monotonic()
    try:
        yield
    finally:
        spent = _spent(out)
        spent[name] = spent.get(name, 0.0) + time.monotonic() - began
        (out / SPENT).write_bytes(msgspec.json.encode(spent))
