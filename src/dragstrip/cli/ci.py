"""Writes the files of `compare`, `report` and `servers check` for CI systems."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from dragstrip.model.errors import InputError

if TYPE_CHECKING:  # these modules load Polars
    from dragstrip.report.ci.cases import Suite

JunitFile = Annotated[
    Path | None,
    typer.Option(
        "--junit",
        help="Write the findings to this file as JUnit XML (default: none).",
        metavar="FILE",
    ),
]
Annotate = Annotated[
    Literal["github"] | None,
    typer.Option(
        "--annotate",
        help="Also print on stderr what makes this CI system annotate its run (default: none).",
    ),
]
MarkdownFile = Annotated[
    Path | None,
    typer.Option(
        "--markdown",
        help="Write a Markdown summary to this file, or to stdout if it is - (default: none).",
        metavar="FILE",
    ),
]
_STDOUT = Path("-")


def make_room(junit: Path | None, markdown: Path | None, *, as_json: bool) -> None:
    """Make the folders of these files before the work, so that its result is not lost because a
    folder is missing. Raises `InputError`."""
    if as_json and markdown == _STDOUT:
        raise InputError("--json and --markdown - both write to stdout; name a file")
    for file in (junit, markdown):
        if file and file != _STDOUT:
            try:
                file.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise InputError(f"{file}: {error.strerror}") from None


def write_for_ci(
    suite: "Suite",
    summary: str,
    *,
    junit: Path | None,
    annotate: str | None,
    markdown: Path | None,
) -> None:
    """Write the requested files. Raises `InputError` if a file cannot be written."""
    from dragstrip.report.ci.annotations import annotations
    from dragstrip.report.ci.junit import junit as as_junit

    if annotate:
        sys.stderr.write("".join(annotations(suite)))
    if junit:
        write_file(junit, as_junit(suite))
    if markdown:
        write_markdown(markdown, summary)


def write_markdown(file: Path, summary: str) -> None:
    """Write the summary to the file, or to stdout if it is -. Raises `InputError`."""
    if file == _STDOUT:
        sys.stdout.write(summary)
    else:
        write_file(file, summary.encode())


def write_file(file: Path, content: bytes) -> None:
    """Write the file. Raises `InputError` if that fails."""
    try:
        file.write_bytes(content)
    except OSError as error:
        raise InputError(f"{file}: {error.strerror}") from None
