"""`dragstrip run`: a study from a file."""

from pathlib import Path
from typing import Annotated

import typer

from dragstrip.cli.conduct import conduct
from dragstrip.cli.places import new_capsule, page_cache
from dragstrip.study.file import read_study


def run(
    study: Annotated[Path, typer.Argument(help="Study file (TOML).", metavar="STUDY.toml")],
    out: Annotated[
        Path | None, typer.Option(help="Result folder; an existing one resumes.")
    ] = None,
    calibrate: Annotated[
        bool | None,
        typer.Option(
            "--calibrate/--no-calibrate",
            help="Measure the link before the first visit; by default once per capsule.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
) -> int:
    """Run a study, or go on with one that was interrupted."""
    resolved = read_study(study, page_cache())
    return conduct(
        resolved, out or new_capsule(resolved.name), as_json=as_json, calibrate=calibrate
    )
