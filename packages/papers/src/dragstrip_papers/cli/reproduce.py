"""`dragstrip reproduce KEY`: run a paper's studies within a time limit, then answer its claims."""

from collections.abc import Sequence
from functools import partial
from math import inf
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec import structs
from rich.console import Console
from rich.table import Table

from dragstrip.cli import exits
from dragstrip.cli.options import (
    AdmitOthers,
    ByClient,
    Calibrate,
    ClusterOption,
    Computing,
    DryRun,
    Jobs,
    Restarts,
    Virtual,
    WatchOption,
)
from dragstrip.cli.places import page_cache
from dragstrip.cli.study.conduct import exit_code, redraw, shown
from dragstrip.conduct.clocks import clock_of, jobs_of, timed
from dragstrip.conduct.cluster import Cluster as On
from dragstrip.conduct.cluster import cluster_of
from dragstrip.conduct.restarts import spread
from dragstrip.conduct.visits import TimeUp, make_visits
from dragstrip.model.browsers import LOADER
from dragstrip.model.clock import COMPUTING, NETWORK, Clock
from dragstrip.model.errors import InputError
from dragstrip.model.study import Slow
from dragstrip.results.capsule import Capsule
from dragstrip_papers.cli.names import (
    paper_claims,
    paper_keys,
    paper_networks,
    paper_pages,
    paper_stacks,
    paper_studies,
)

if TYPE_CHECKING:
    from dragstrip.study.spec import StudySpec
    from dragstrip_papers.answers.findings import Findings
    from dragstrip_papers.campaign.plan import Cells, Part
    from dragstrip_papers.claims import Published
    from dragstrip_papers.kept import Kept

SMOKE_MINUTES = 10.0


def reproduce(
    key: Annotated[
        str,
        typer.Argument(
            help="A name from `dragstrip list papers`.", metavar="KEY", autocompletion=paper_keys
        ),
    ],
    scale: Annotated[
        str,
        typer.Option(
            help="smoke: the cells that fit into --minutes; paper: all cells; a share like 0.1: "
            "all cells, with fewer runs.",
            metavar="smoke|paper|F",
        ),
    ] = "smoke",
    slow_runs: Annotated[
        int | None,
        typer.Option(
            help="Runs per slow cell (median load at least 10 s). Default: same as others.",
            min=1,
        ),
    ] = None,
    minutes: Annotated[
        float | None,
        typer.Option(
            help="Time for visits, in minutes; 0 only answers the claims. Default: 10 at scale "
            "smoke, no limit otherwise.",
            min=0,
        ),
    ] = None,
    study: Annotated[
        list[str] | None,
        typer.Option(
            help="Run only these of the paper's studies, by name (default: all).",
            metavar="NAME",
            autocompletion=paper_studies,
        ),
    ] = None,
    claim: Annotated[
        list[str] | None,
        typer.Option(
            help="Run only the cells and stacks that these claims look at, such as 03 (default: "
            "those of all claims).",
            metavar="ID",
            autocompletion=paper_claims,
        ),
    ] = None,
    stack: Annotated[
        list[str] | None,
        typer.Option(
            help="Race only these of the studies' stacks (default: those that the claims look at).",
            metavar="STACK",
            autocompletion=paper_stacks,
        ),
    ] = None,
    network: Annotated[
        list[str] | None,
        typer.Option(
            help="Race only over these of the studies' networks, such as LTE (default: those that "
            "the claims look at).",
            metavar="NETWORK",
            autocompletion=paper_networks,
        ),
    ] = None,
    page: Annotated[
        list[str] | None,
        typer.Option(
            help="Visit these pages instead, such as your own recordings of the sites (default: "
            "the pages of the paper's studies).",
            metavar="PAGE",
            autocompletion=paper_pages,
        ),
    ] = None,
    controls_every: Annotated[
        int,
        typer.Option(
            help="Visit the controls in each Nth block of a cell only, beginning with the first.",
            metavar="N",
            min=1,
        ),
    ] = 1,
    native: Annotated[
        bool,
        typer.Option(
            "--native",
            help="Run the paper's own protocols, SPDY and Google QUIC, in the old browsers that "
            "are installed (docs/howto/legacy.md).",
        ),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Result folder; an existing one resumes. Default: capsules/KEY, plus -native, "
            "-virtual, -computing or -loader with these options."
        ),
    ] = None,
    others: Annotated[
        list[Path] | None,
        typer.Option(
            "--with",
            help="Answer with these loads as well: loads.parquet of other result folders, such as "
            "another machine's.",
            metavar="FILE",
        ),
    ] = None,
    captures: Annotated[
        Path | None, typer.Option(help="Folder of published captures to audit (default: none).")
    ] = None,
    calibrate: Calibrate = None,
    virtual: Virtual = False,
    computing: Computing = False,
    client: ByClient = None,
    jobs: Jobs = None,
    restarts: Restarts = None,
    cluster: ClusterOption = None,
    admit_other_machines: AdmitOthers = False,
    watch: WatchOption = False,
    dry_run: DryRun = False,
) -> int:
    """Run a paper's studies within a time limit; answer its claims."""
    from dragstrip_papers.campaign.clients import by_client, check_client, makeable
    from dragstrip_papers.campaign.fill import fill
    from dragstrip_papers.campaign.plan import (  # loads slowly
        asked_about,
        campaign,
        capsules_of,
        chosen,
        claims_named,
        of_ones_own,
        present,
        spoken_of,
    )
    from dragstrip_papers.claims import published
    from dragstrip_papers.kept import read

    by = client or "browser"
    if native and by == LOADER:
        raise InputError(
            "--native with --client loader: the load generator predicts today's Chromium only; "
            "leave out one of the two"
        )
    clock = clock_of(virtual=virtual, computing=computing)
    at_most = jobs_of(clock, jobs)
    slow = Slow(runs=slow_runs) if slow_runs else None
    paper = published(key).native() if native else published(key)
    studies = by_client(paper.outlines(), by)
    outlines = of_ones_own(studies, page or ())
    folder = out or _folder(key, clock, native=native, client=by)
    check_client(capsules_of(folder, outlines), by)
    wanted = makeable(chosen(outlines, study or ()), by)
    if clock.virtual or by == LOADER:
        wanted = paper.in_virtual_time(wanted)

    claims = claims_named(paper, claim or ())
    wanted = spoken_of(wanted, claims, paper.parts, folder, stack or ())
    wanted = [structs.replace(outline, controls_every=controls_every) for outline in wanted]

    def plan(budget_s: float, there: "Cells") -> list["Part"]:
        return campaign(
            paper,
            wanted,
            scale,
            budget_s,
            slow,
            there,
            virtual=clock.virtual,
            claims=claims,
            networks=network or (),
        )

    loads = [read(file) for file in others or ()]
    there = partial(present, folder, wanted)
    if minutes is None:
        minutes = SMOKE_MINUTES if scale == "smoke" else inf
    parts = plan(minutes * 60, there())
    console = Console(stderr=not dry_run)
    _announce(console, paper, parts)
    if dry_run:
        return exits.DONE
    run = partial(
        _run,
        folder=folder,
        clock=clock,
        calibrate=calibrate,
        jobs=at_most,
        restarts=restarts,
        cluster=cluster_of(cluster, jobs, clock, admit_others=admit_other_machines),
        watch=watch,
        frozen=paper.rules,
    )
    if scale == "smoke":
        tell = partial(console.print, highlight=False)
        finished = fill(parts, plan, run, there, minutes * 60, tell=tell)
    else:
        finished = not minutes or run(parts, monotonic() + minutes * 60)
    if not finished:
        console.print(
            "time is up before all visits were made; the same command resumes",
            highlight=False,
        )
    capsules = capsules_of(folder, outlines)
    code = _redraw(capsules)
    about = asked_about(studies, page or ())
    found, claims_page = _answer(paper, about, folder, capsules, captures, loads)
    _tell(console, found, claims_page)
    return code if finished else exits.DONE


def _folder(key: str, clock: Clock, *, native: bool, client: str) -> Path:
    """The default result folder: runs that differ in these are never mixed."""
    kinds = {
        "native": native,
        "virtual": clock == NETWORK,
        "computing": clock == COMPUTING,
        LOADER: client == LOADER,
    }
    return Path("capsules") / "-".join([key, *(kind for kind, is_so in kinds.items() if is_so)])


def _run(
    parts: Sequence["Part"],
    until: float,
    *,
    folder: Path,
    clock: Clock,
    calibrate: bool | None,
    jobs: int,
    restarts: int | None,
    cluster: On | None,
    watch: bool,
    frozen: str,
) -> bool:
    """Make the remaining visits; False if time ran out. A study has at most as many restarts as
    runs."""
    from dragstrip_papers.campaign.plan import study_of

    try:
        for part in parts:
            if len(part.cells):
                study = timed(study_of(part, folder, page_cache()), clock)
                study = spread(study, restarts and min(restarts, study.runs))
                with shown(folder / study.name, watch=watch) as watcher:
                    make_visits(
                        study,
                        folder / study.name,
                        calibrate=calibrate,
                        jobs=jobs,
                        cluster=cluster,
                        until=until,
                        frozen=frozen,
                        cells=part.keys,
                        watcher=watcher,
                    )
    except TimeUp:
        return False
    return True


def _redraw(capsules: Sequence[Path]) -> int:
    """Redraw tables and report of every study; returns the most severe exit code."""
    from dragstrip.results.tables.build import scan

    codes = [exits.DONE]
    for path in capsules:
        capsule = Capsule.open(path)
        redraw(capsule)
        codes.append(exit_code(capsule.manifest.study, scan(capsule, "visits")))
    return max(codes)


def _answer(
    paper: "Published",
    outlines: list["StudySpec"],
    folder: Path,
    capsules: list[Path],
    captures: Path | None,
    others: Sequence["Kept"],
) -> tuple["Findings", Path]:
    from dragstrip_papers.answers.findings import findings
    from dragstrip_papers.answers.predicted import without_paint
    from dragstrip_papers.answers.ran import numbers, ran_in
    from dragstrip_papers.captures import audited
    from dragstrip_papers.evidence import from_capsules
    from dragstrip_papers.kept import FILE, keep, together
    from dragstrip_papers.report.catalogue import Sources, drawn
    from dragstrip_papers.report.claims import write

    evidence = from_capsules(capsules, paper.parts)
    ran = ran_in(capsules, evidence.loads)
    if ran.client == LOADER:
        evidence = without_paint(evidence)
    ran, evidence = together(paper, ran, evidence, others)
    if captures:
        evidence = structs.replace(evidence, audit=audited(captures))
    found = findings(paper, outlines, ran, evidence, numbers(capsules))
    sources = Sources(
        paper=paper,
        evidence=evidence,
        stacks=paper.stacks(outlines),
        capsules=tuple(capsules),
    )
    target = write(folder, found, drawn(sources))
    keep(folder / FILE, paper, ran, evidence)
    return found, target


def _announce(console: Console, paper: "Published", parts: Sequence["Part"]) -> None:
    table = Table(box=None, pad_edge=False)
    table.add_column("study", style="bold")
    for column in ("cells", "of", "runs", "visits", "hours with 1 job, about"):
        table.add_column(column, justify="right")
    for part in parts:
        hours = part.seconds / 3600
        numbers = (len(part.cells), part.total, part.runs, part.visits, f"{hours:.2f}")
        table.add_row(part.outline.name, *map(str, numbers))
    console.print(table)
    judged = sum(claim.predicate is not None for claim in paper.claims)
    console.print(f"{len(paper.claims)} claims, {judged} with a predicate", highlight=False)
    for role, player in paper.cast.items():
        console.print(f"own: {player} plays {role}", highlight=False, markup=False)
    for stack, of in paper.stands_for.items():
        console.print(f"surrogate: {stack} stands for {of}", highlight=False, markup=False)
    for choice in paper.paper.choices:
        console.print(f"our choice: {choice}", highlight=False, markup=False)


def _tell(console: Console, found: "Findings", page: Path) -> None:
    made = sum(m.visits for m in found.made)
    invalid = sum(m.invalid for m in found.made)
    console.print(
        f"{found.cells_run} of {found.cells_total} cells run: {made} visits, {invalid} invalid; "
        f"{len(found.left_out)} cells left out",
        highlight=False,
    )
    for verdict, count in found.verdicts.items():
        names = [c.id.rsplit("-", 1)[-1] for c in found.claims if c.verdict == verdict]
        told = f" ({', '.join(names)})" if 0 < len(names) <= 20 else ""
        console.print(f"{count:4} {verdict}{told}", highlight=False)
    if found.predicted:
        console.print(found.predicted, highlight=False)
    if said := found.frozen.words():
        console.print(said, highlight=False)
    console.print(f"claims: {page}", highlight=False)
