"""Presents the results of `dragstrip servers check` to a CI system."""

from collections.abc import Sequence

from dragstrip.conduct.conformance import ConformanceResult
from dragstrip.report.ci.cases import Case, CaseOutcome, Suite
from dragstrip.report.ci.markdown import plain, table

_OUTCOMES: dict[str, CaseOutcome] = {"yes": "passed", "no": "failed", "unknown": "undecided"}


def checked_suite(server: str, page: str, found: Sequence[ConformanceResult]) -> Suite:
    """Make one case per protocol and check."""
    return Suite(
        command="dragstrip servers check",
        cases=[
            Case(
                name=f"{server}: {one.protocol} {one.what}",
                outcome=_OUTCOMES[one.outcome],
                said=one.said,
            )
            for one in found
        ],
        properties={"server": server, "page": page},
    )


def checked_summary(suite: Suite, found: Sequence[ConformanceResult]) -> str:
    """Write a Markdown summary: the number of failed checks, and a table of all checks."""
    failed = len(suite.of("failed"))
    head = f"{failed} of {len(found)} checks failed" if failed else "no check failed"
    lines = [f"### dragstrip: {plain(suite.properties['server'])}: {head}", ""]
    lines += table(
        ("protocol", "check", "result", "why"),
        [(one.protocol, one.what, one.outcome, one.said) for one in found],
    )
    return "\n".join(lines) + "\n"
