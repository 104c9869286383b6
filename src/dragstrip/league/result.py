"""The league's result as data: what ``--json`` prints, and what the page shows. Its field names are
a contract; fields may only be added."""

from collections.abc import Iterator, Sequence

import polars as pl
from msgspec import Struct, structs

from dragstrip.conduct.conformance import ConformanceResult
from dragstrip.league.disciplines import known
from dragstrip.league.entries import Absent, Entry, digests
from dragstrip.league.plan import why_commands
from dragstrip.league.run import DisciplineRun, League
from dragstrip.league.standings import Standing, standings
from dragstrip.model.clock import ClockKind
from dragstrip.model.page import Page
from dragstrip.model.stack import differences
from dragstrip.model.study import Study
from dragstrip.report.words.wire_evidence import pointers
from dragstrip.results.capsule import MANIFEST, Capsule
from dragstrip.results.compare.wire_evidence import evidence
from dragstrip.results.observed import Observed, observed
from dragstrip.results.tables.build import refresh, scan
from dragstrip.verdict.rules import VERSION
from dragstrip.visit.objects import find_metric

_OWN = " of its own choice"


class LeagueServer(Struct, frozen=True, kw_only=True):
    name: str
    server: str
    what: str
    source: str
    """The documentation that the server's configuration follows."""
    version: str
    digests: tuple[str, ...]
    settings: str
    """The stack in words, without settings that the server decides itself."""
    own: tuple[str, ...]
    """The settings that the server decides itself."""
    unchecked: tuple[str, ...]


class GapCause(Struct, frozen=True, kw_only=True):
    """What the league's own visits say of a gap, and a command that finds its cause."""

    name: str
    shown: bool
    """Whether the gap is shown to exceed 10 %. If not, a gap of more than 10 % is only not
    excluded."""
    command: str
    seen: tuple[str, ...] = ()
    """Settings of the two servers that matter here, and causes that their traffic points to."""


class DisciplineResult(Struct, frozen=True, kw_only=True):
    name: str
    title: str
    what: str
    metric: str
    unit: str
    pages: tuple[str, ...]
    networks: tuple[str, ...]
    connections: tuple[str, ...]
    runs: int
    client: str
    capsule: str
    standings: tuple[Standing, ...]
    left_out: tuple[Absent, ...]
    causes: tuple[GapCause, ...]
    megabits: float | None = None
    """The page's size in Mbit, if goodput is shown too."""
    real_time: bool = False
    """Whether the discipline runs in real time in every league."""
    per: str = ""
    """``MB`` or ``request``, if the metric is shown per it too; empty if not."""
    amount: float | None = None
    """Number of these in the page."""
    said: str = ""

    @property
    def visits(self) -> int:
        return sum(one.visits for one in self.standings)

    @property
    def invalid(self) -> int:
        return sum(one.invalid for one in self.standings)


class Conformance(Struct, frozen=True, kw_only=True):
    name: str
    yes: int
    no: tuple[str, ...]
    unknown: tuple[str, ...]
    said: str = ""


class LeagueResult(Struct, frozen=True, kw_only=True):
    family: str
    clock: ClockKind
    scale: str
    seed: int
    rules: int
    """The `dragstrip.verdict.rules.VERSION` by which visits were judged."""
    servers: tuple[LeagueServer, ...]
    absent: tuple[Absent, ...]
    disciplines: tuple[DisciplineResult, ...]
    conformance: tuple[Conformance, ...]
    not_measured: tuple[str, ...]
    """Disciplines that this league did not run."""
    hours: float
    """Hours spent so far."""

    @property
    def visits(self) -> int:
        return sum(d.visits for d in self.disciplines)

    @property
    def invalid(self) -> int:
        return sum(d.invalid for d in self.disciplines)


def result(league: League) -> LeagueResult:
    """Read the standings from the league's capsules."""
    return LeagueResult(
        family=league.asked.family,
        clock=league.clock.kind,
        scale=league.asked.scale,
        seed=league.asked.seed,
        rules=VERSION,
        servers=tuple(_server(entry) for entry in league.entries),
        absent=league.absent,
        disciplines=tuple(_discipline(ran) for ran in league.ran),
        conformance=tuple(_conformance(n, found) for n, found in league.conformance.items()),
        not_measured=tuple(_not_run(league)),
        hours=league.spent_s / 3600,
    )


def _not_run(league: League) -> Iterator[str]:
    """Yield what each discipline that did not run would have measured."""
    ran = {one.discipline.name for one in league.ran}
    yield from (f"{d.title}: {d.what}" for d in known() if d.name not in ran)


def _amount(page: Page, per: str) -> float:
    return page.body_bytes * 1e-6 if per == "MB" else float(len(page.resources))


def _server(entry: Entry) -> LeagueServer:
    serving = entry.stack.serving
    decided = {what: f"{what}{_OWN}" for what in entry.stack.words()}
    own = [what for what, said in entry.stack.words().items() if said == decided[what]]
    settings = [said for said in entry.stack.describe().split(", ") if not said.endswith(_OWN)]
    return LeagueServer(
        name=entry.name,
        server=serving.name,
        what=serving.what,
        source=serving.source,
        version=entry.version,
        digests=tuple(digests(entry)),
        settings=", ".join(settings),
        own=tuple(own),
        unchecked=entry.unchecked,
    )


def _discipline(ran: DisciplineRun) -> DisciplineResult:
    d = ran.discipline
    found: list[Standing] = []
    causes: tuple[GapCause, ...] = ()
    megabits = amount = None
    if ran.study and (ran.capsule / MANIFEST).exists():
        capsule = Capsule.open(ran.capsule)
        refresh(capsule)
        table = scan(capsule, "visits")
        found = standings(ran.study, table, d.metric)
        causes = tuple(_causes(ran, ran.study, table, found))
        if d.goodput and len(ran.study.pages) == 1:
            megabits = ran.study.pages[0].body_bytes * 8e-6
        if d.per and len(ran.study.pages) == 1:
            amount = _amount(ran.study.pages[0], d.per)
    return DisciplineResult(
        name=d.name,
        title=d.title,
        what=d.what,
        metric=d.metric,
        unit=find_metric(d.metric).unit,
        pages=d.pages,
        networks=d.networks,
        connections=d.connections,
        runs=d.runs,
        client=d.client,
        capsule=ran.capsule.name,
        standings=tuple(found),
        left_out=ran.left_out,
        causes=causes,
        megabits=megabits,
        real_time=d.real_time,
        per=d.per,
        amount=amount,
        said=ran.said,
    )


def _causes(
    ran: DisciplineRun, study: Study, table: pl.LazyFrame, found: list[Standing]
) -> Iterator[GapCause]:
    far = {one.name: one.gap == "shown" for one in found if one.gap != "none"}
    if not far:
        return
    leader = found[0].name
    # What traffic points to explains waits, not computing.
    cells = [] if find_metric(ran.discipline.metric).spent else list(observed(study, table))
    for name, command in why_commands(ran.discipline, leader, tuple(far), ran.capsule):
        seen = (
            *_known(study, ran.discipline.about, leader, name),
            *dict.fromkeys(_seen(study, cells, leader, name)),
        )
        yield GapCause(name=name, shown=far[name], command=command, seen=seen)


def _known(study: Study, about: Sequence[str], leader: str, name: str) -> Iterator[str]:
    """Yield a sentence for each setting that the discipline is about and that differs."""
    stacks = {stack.name: stack for stack in study.stacks}
    for what, first, other in differences(stacks[leader], stacks[name]):
        if what in about:
            yield f"{name}: {other}; {leader}: {first}."


def _seen(study: Study, cells: list[Observed], leader: str, name: str) -> Iterator[str]:
    """Yield a sentence for each cause of `name` being behind that the traffic of two servers points
    to, with its cell if there are several. What burdens the leader explains no gap."""
    stacks = {stack.name: stack for stack in study.stacks}
    networks = {network.name: network for network in study.networks}
    for cell in cells:
        where = f"{cell.page} over {cell.network}: " if len(cells) > 1 else ""
        found = evidence(cell, networks[cell.network], stacks[leader], stacks[name])
        own = tuple(one for one in found.pointers if one.stack == name)
        found = structs.replace(found, pointers=own)
        yield from (f"{where}{said}" for said in pointers(found))


def _conformance(name: str, found: tuple[ConformanceResult, ...] | str) -> Conformance:
    if isinstance(found, str):
        return Conformance(name=name, yes=0, no=(), unknown=(), said=found)
    return Conformance(
        name=name,
        yes=sum(one.outcome == "yes" for one in found),
        no=tuple(f"{one.what}: {one.said}" for one in found if one.outcome == "no"),
        unknown=tuple(f"{one.what}: {one.said}" for one in found if one.outcome == "unknown"),
    )
