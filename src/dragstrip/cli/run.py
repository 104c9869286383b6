"""`dragstrip run`: a study from a file."""

from pathlib import Path
from typing import Annotated

import typer

from dragstrip.cli.clocks import jobs_of, timed
from dragstrip.cli.conduct import conduct
from dragstrip.cli.dry_run import dry_run
from dragstrip.cli.options import AsJson, Calibrate, DryRun, Jobs, Out, Virtual
from dragstrip.cli.places import new_capsule, page_cache
from dragstrip.schedule.scale import scaled
from dragstrip.study.file import read_study


def run(
    study: Annotated[Path, typer.Argument(help="Study file (TOML).", metavar="STUDY.toml")],
    out: Out = None,
    calibrate: Calibrate = None,
    virtual: Virtual = False,
    jobs: Jobs = None,
    scale: Annotated[
        str,
        typer.Option(help="smoke (cheapest cells, 10 minutes), paper (all), or a share of runs."),
    ] = "paper",
    dry: DryRun = False,
    as_json: AsJson = False,
) -> int:
    """Run a study, or go on with one that was interrupted."""
    resolved = timed(scaled(read_study(study, page_cache()), scale), virtual=virtual)
    at_most = jobs_of(resolved.clock, jobs)
    if dry:
        return dry_run(resolved, out, at_most)
    return conduct(
        resolved,
        out or new_capsule(resolved.name),
        as_json=as_json,
        calibrate=calibrate,
        jobs=at_most,
    )
