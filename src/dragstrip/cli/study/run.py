"""`dragstrip run`: a study from a file."""

from pathlib import Path
from typing import Annotated

import typer

from dragstrip.cli.options import AsJson, DryRun
from dragstrip.cli.places import new_capsule, page_cache
from dragstrip.cli.run_options import takes_run_options
from dragstrip.cli.study.conduct import present, shown
from dragstrip.cli.study.dry_run import dry_run
from dragstrip.conduct.options import RunOptions
from dragstrip.conduct.visits import make_visits
from dragstrip.schedule.scale import scaled
from dragstrip.study.file import read_study


@takes_run_options()
def run(
    study: Annotated[Path, typer.Argument(help="Study file (TOML).", metavar="STUDY.toml")],
    *,
    options: RunOptions,
    scale: Annotated[
        str,
        typer.Option(help="smoke (cheapest cells, 10 minutes), paper (all), or a share of runs."),
    ] = "paper",
    dry: DryRun = False,
    as_json: AsJson = False,
) -> int:
    """Run a study, or resume one."""
    resolved = options.adapt(scaled(read_study(study, page_cache()), scale))
    if dry:
        return dry_run(resolved, options)
    options.check(resolved)
    folder = options.out or new_capsule(resolved.name)
    with shown(folder, watch=options.watch) as watcher:
        make_visits(resolved, folder, options, watcher=watcher)
    return present(folder, as_json=as_json)
