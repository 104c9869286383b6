"""Answers claims again from a folder of kept loads alone."""

from pathlib import Path

from dragstrip.model.errors import InputError
from dragstrip_papers.answers.findings import Findings, findings
from dragstrip_papers.claims import KNOWN, published
from dragstrip_papers.kept import Kept, read
from dragstrip_papers.overall.given import of_findings
from dragstrip_papers.overall.rows import Row, rows


def answered(held: Kept) -> Findings:
    """Answer all claims of the paper whose loads these are."""
    paper = published(held.paper).native() if held.cast else published(held.paper)
    return findings(paper, paper.specs(), held.ran, held.evidence)


def rows_of(folder: Path, key: str = "") -> list[Row]:
    """Return one answer for each claim of the papers whose loads are in the folder's tables; with
    `key`, of that paper only.

    Raises `InputError` for an unknown paper, for a file that is no table of loads, and for a folder
    without the paper's tables.
    """
    wanted = {published(key).key} if key else {*KNOWN}
    tables = map(read, sorted(folder.glob("*.parquet")))
    given = [
        of_findings(answered(held), held.file, held.file.stem, "")
        for held in tables
        if held.paper in wanted
    ]
    if not given:
        what = f"loads of {key}" if key else "loads"
        raise InputError(f"{folder} has no table of {what}: try docs/results/loads")
    there = {page.paper for page in given}
    return rows([published(k) for k in KNOWN if k in there], given, {})
