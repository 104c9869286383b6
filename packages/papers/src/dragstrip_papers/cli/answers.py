"""Draws the answers to a paper's claims from its capsules, and prints them."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs
from rich.console import Console

from dragstrip.cli import exits
from dragstrip.cli.study.conduct import exit_code, redraw
from dragstrip.model.browsers import LOADER
from dragstrip.results.capsule import Capsule

if TYPE_CHECKING:
    from dragstrip.study.spec import StudySpec
    from dragstrip_papers.answers.findings import Findings
    from dragstrip_papers.claims import Published
    from dragstrip_papers.kept import Kept


def redraw_all(capsules: Sequence[Path]) -> int:
    """Redraw tables and report of every study; return the most severe exit code."""
    from dragstrip.results.tables.build import scan

    codes = [exits.DONE]
    for path in capsules:
        capsule = Capsule.open(path)
        redraw(capsule)
        codes.append(exit_code(capsule.manifest.study, scan(capsule, "visits")))
    return max(codes)


def answer(
    paper: "Published",
    specs: list["StudySpec"],
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
    found = findings(paper, specs, ran, evidence, numbers(capsules))
    sources = Sources(
        paper=paper,
        evidence=evidence,
        stacks=paper.stacks(specs),
        capsules=tuple(capsules),
    )
    target = write(folder, found, drawn(sources))
    keep(folder / FILE, paper, ran, evidence)
    return found, target


def tell(console: Console, found: "Findings", page: Path) -> None:
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
