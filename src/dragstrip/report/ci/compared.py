"""Presents a comparison of two capsules to a CI system."""

from collections.abc import Sequence
from pathlib import Path

from dragstrip.report.ci.cases import Case, CaseOutcome, Suite
from dragstrip.report.ci.markdown import plain, table
from dragstrip.report.words.compared import CANNOT_TELL, loads_of, metric_of, ratio_of, said_of
from dragstrip.results.compare.capsules import CapsuleComparison, CapsuleDifference
from dragstrip.results.compare.gate import Gated
from dragstrip.verdict.rules import VERSION


def compared_suite(a: Path, b: Path, found: CapsuleComparison, gated: Sequence[Gated]) -> Suite:
    """Make one case per condition, stack and cell."""
    differences = [row.difference for row in found.rows]
    return Suite(
        command="dragstrip compare",
        cases=[
            Case(
                name=f"{one.condition}: {one.stack} on {_place(one.cell)}",
                outcome=_outcome(one, found),
                said=said_of(one, differences),
            )
            for one in gated
        ],
        properties={"a": str(a), "b": str(b), "rules": str(VERSION)},
        notes=found.notes,
    )


def compared_summary(suite: Suite, differences: Sequence[CapsuleDifference]) -> str:
    """Write a Markdown summary: the answer, a table of the differences, and each condition that did
    not pass."""
    if suite.of("failed"):
        head = "a condition failed"
    elif suite.of("broken"):
        head = "cannot tell, too many invalid loads"
    else:
        head = "no condition failed" if suite.cases else "no condition given"
    a, b = (Path(suite.properties[side]).name for side in "ab")
    # If stacks of one capsule are compared, their names replace A and B.
    ratio = f"{b} / {a} (95 %)" if a != b else "B / A (95 %)"
    lines = [f"### dragstrip: {head}", ""]
    lines += table(
        ("page and network", "stack", "metric", ratio, "loads"),
        [(_place(d.cell), d.stack, metric_of(d), ratio_of(d), loads_of(d)) for d in differences],
    )
    lines += ["", *_listed(suite)]
    if suite.of("broken"):
        lines += ["", CANNOT_TELL]
    return "\n".join(lines).rstrip() + "\n"


def _listed(suite: Suite) -> list[str]:
    """Write the lines of a list: the conditions that did not pass, the number that passed, and the
    notes."""
    against = [*suite.of("failed"), *suite.of("broken"), *suite.of("undecided")]
    lines = [f"- **{plain(case.name)}**: {plain(case.said)}" for case in against]
    if passed := len(suite.of("passed")):
        lines.append(f"- {passed} of {len(suite.cases)} passed")
    return lines + [f"- Note: {plain(note)}" for note in suite.notes]


def _outcome(one: Gated, found: CapsuleComparison) -> CaseOutcome:
    if one.verdict == "not decided":
        return "broken" if found.stayed_invalid else "undecided"
    return one.verdict


def _place(cell: str) -> str:
    """Write a cell in words: ``demo|LTE`` -> ``demo over LTE``."""
    return cell.replace("|", " over ", 1).replace("|", ", ")
