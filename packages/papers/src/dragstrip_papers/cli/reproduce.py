"""`dragstrip reproduce KEY`: run a paper's studies within a time limit, then answer its claims.

`--from` answers from kept loads instead, see `dragstrip_papers.cli.again`.
"""

from collections.abc import Callable, Sequence
from functools import partial
from math import inf
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from msgspec import structs
from rich.console import Console
from rich.table import Table

from dragstrip.cli import exits
from dragstrip.cli.options import DryRun
from dragstrip.cli.places import page_cache
from dragstrip.cli.run_options import takes_run_options
from dragstrip.cli.study.conduct import shown
from dragstrip.conduct.options import RunOptions
from dragstrip.conduct.visits import TimeUp, make_visits
from dragstrip.model.browsers import LOADER
from dragstrip.model.clock import NETWORK
from dragstrip.model.errors import InputError
from dragstrip.model.study import Slow
from dragstrip_papers.cli.again import answer_from
from dragstrip_papers.cli.answers import answer, redraw_all, tell
from dragstrip_papers.cli.options import (
    Captures,
    ClaimNames,
    ControlsEvery,
    FromLoads,
    Key,
    Minutes,
    Native,
    NetworkNames,
    OtherLoads,
    Out,
    PageNames,
    Patience,
    Recordings,
    Scale,
    SlowRuns,
    StackNames,
    StudyNames,
)

if TYPE_CHECKING:
    from dragstrip.study.spec import StudySpec
    from dragstrip_papers.campaign.plan import Part
    from dragstrip_papers.claims import Claim, Published

SMOKE_MINUTES = 10.0
TIME_IS_UP = "time is up before all visits were made; the same command resumes"


@takes_run_options(without=("shard", "device"), after={"native": ("out",)}, out=Out)
def reproduce(
    key: Key = "",
    scale: Scale = "smoke",
    slow_runs: SlowRuns = None,
    minutes: Minutes = None,
    study: StudyNames = None,
    claim: ClaimNames = None,
    stack: StackNames = None,
    network: NetworkNames = None,
    page: PageNames = None,
    recordings: Recordings = None,
    patience: Patience = None,
    controls_every: ControlsEvery = 1,
    native: Native = False,
    others: OtherLoads = None,
    from_: FromLoads = None,
    captures: Captures = None,
    *,
    options: RunOptions,
    dry_run: DryRun = False,
) -> int:
    """Run a paper's studies within a time limit; answer its claims."""
    from dragstrip_papers import kept
    from dragstrip_papers.campaign import clients, plan  # these modules load slowly
    from dragstrip_papers.campaign.fill import fill
    from dragstrip_papers.campaign.patience import patient
    from dragstrip_papers.claims import published
    from dragstrip_papers.sites import with_recordings

    if from_ is not None:
        return answer_from(from_, key, options.out)
    if not key:
        raise InputError("which paper? give a name from `dragstrip list papers`, or --from FOLDER")
    _check(options, native=native)
    paper = published(key).native() if native else published(key)
    client = options.client or "browser"
    folder = options.out or _folder(key, options, native=native)
    studies = clients.by_client(with_recordings(paper.specs(), recordings or ()), client)
    studies = patient(studies, patience)
    specs = plan.of_ones_own(studies, page or ())
    clients.check_client(plan.capsules_of(folder, specs), client)
    wanted, claims = _chosen(paper, specs, folder, options, study or (), claim or (), stack or ())
    wanted = [structs.replace(spec, controls_every=controls_every) for spec in wanted]
    parts_in = partial(
        plan.campaign,
        paper,
        wanted,
        scale,
        slow=Slow(runs=slow_runs) if slow_runs else None,
        virtual=options.clock.virtual,
        claims=claims,
        networks=network or (),
    )
    loads = [kept.read(file) for file in others or ()]
    there = partial(plan.present, folder, wanted)
    if minutes is None:
        minutes = SMOKE_MINUTES if scale == "smoke" else inf
    parts = parts_in(minutes * 60, there())
    console = Console(stderr=not dry_run)
    _announce(console, paper, parts)
    if dry_run:
        return exits.DONE
    options.check_place(options.clock)
    run = partial(_run, folder=folder, options=options, frozen=paper.rules)
    more = partial(fill, plan=parts_in, present=there) if scale == "smoke" else None
    finished = _visit(parts, minutes * 60, run, more, console)
    capsules = plan.capsules_of(folder, specs)
    code = redraw_all(capsules)
    about = plan.asked_about(studies, page or ())
    tell(console, *answer(paper, about, folder, capsules, captures, loads))
    return code if finished else exits.DONE


def _check(options: RunOptions, *, native: bool) -> None:
    """Raise `InputError` for options that contradict each other, before any file is read."""
    if native and options.client == LOADER:
        raise InputError(
            "--native with --client loader: the load generator predicts today's Chromium only; "
            "leave out one of the two"
        )
    options.jobs_here(options.clock)


def _folder(key: str, options: RunOptions, *, native: bool) -> Path:
    """Return the default result folder. Runs with different clients, clocks or stacks have
    different folders, so they are never mixed."""
    kinds = {
        "native": native,
        "virtual": options.clock.virtual,
        "no-computing": options.clock == NETWORK and options.client != LOADER,
        LOADER: options.client == LOADER,
    }
    return Path("capsules") / "-".join([key, *(kind for kind, is_so in kinds.items() if is_so)])


def _chosen(
    paper: "Published",
    specs: Sequence["StudySpec"],
    folder: Path,
    options: RunOptions,
    studies: Sequence[str],
    claims: Sequence[str],
    stacks: Sequence[str],
) -> tuple[list["StudySpec"], list["Claim"]]:
    """Return the named studies with what the named claims need, and the claims. Raises
    `InputError`."""
    from dragstrip_papers.campaign.clients import makeable
    from dragstrip_papers.campaign.plan import chosen, claims_named, spoken_of

    wanted = makeable(chosen(specs, studies), options.client or "browser")
    if options.clock.virtual or options.client == LOADER:
        wanted = paper.in_virtual_time(wanted)
    named = claims_named(paper, claims)
    return spoken_of(wanted, named, paper.parts, folder, stacks), named


def _visit(
    parts: Sequence["Part"],
    seconds: float,
    run: Callable[[Sequence["Part"], float], bool],
    more: Callable[..., bool] | None,
    console: Console,
) -> bool:
    """Make the visits of the parts, then of the parts that `more` finds for the time that is left.
    Return False if time ran out."""
    if more:
        said = partial(console.print, highlight=False)
        finished = more(parts, run=run, budget_s=seconds, tell=said)
    else:
        finished = not seconds or run(parts, monotonic() + seconds)
    if not finished:
        console.print(TIME_IS_UP, highlight=False)
    return finished


def _run(
    parts: Sequence["Part"], until: float, *, folder: Path, options: RunOptions, frozen: str
) -> bool:
    """Make the remaining visits; return False if time ran out. A study has at most as many restarts
    as runs."""
    from dragstrip_papers.campaign.plan import study_of

    try:
        for part in parts:
            if len(part.cells):
                study = study_of(part, folder, page_cache())
                restarts = options.restarts and min(options.restarts, study.runs)
                # The studies already name their client.
                own = structs.replace(options, client=None, restarts=restarts)
                out = folder / study.name
                with shown(out, watch=options.watch) as watcher:
                    make_visits(
                        own.adapt(study),
                        out,
                        own,
                        until=until,
                        frozen=frozen,
                        cells=part.keys,
                        watcher=watcher,
                    )
    except TimeUp:
        return False
    return True


def _announce(console: Console, paper: "Published", parts: Sequence["Part"]) -> None:
    from dragstrip_papers.sites import kinds_of_pages  # loads slowly

    table = Table(box=None, pad_edge=False)
    table.add_column("study", style="bold")
    for column in ("cells", "of", "runs", "visits", "hours with 1 job, about"):
        table.add_column(column, justify="right")
    for part in parts:
        hours = part.seconds / 3600
        numbers = (len(part.cells), part.total, part.runs, part.visits, f"{hours:.2f}")
        table.add_row(part.spec.name, *map(str, numbers))
    console.print(table)
    judged = sum(claim.predicate is not None for claim in paper.claims)
    console.print(f"{len(paper.claims)} claims, {judged} with a predicate", highlight=False)
    for role, player in paper.cast.items():
        console.print(f"own: {player} plays {role}", highlight=False, markup=False)
    for stack, of in paper.stands_for.items():
        console.print(f"surrogate: {stack} stands for {of}", highlight=False, markup=False)
    if said := kinds_of_pages([part.spec for part in parts]):
        console.print(f"pages: {said}", highlight=False)
    for choice in paper.paper.choices:
        console.print(f"our choice: {choice}", highlight=False, markup=False)
