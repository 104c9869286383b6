"""Writes GitHub's workflow commands, which annotate a run.

Each command is one line: ``::error title=TITLE::TEXT``. The runner reads them from stdout and
stderr. It shows ten errors, ten warnings and ten notices per step, so failures come first.
"""

from collections.abc import Iterator

from dragstrip.report.ci.cases import CaseOutcome, Suite

_LEVELS: tuple[tuple[CaseOutcome, str], ...] = (
    ("failed", "error"),
    ("broken", "error"),
    ("undecided", "warning"),
)


def annotations(suite: Suite) -> Iterator[str]:
    """Yield a line for each case that did not pass, and a notice for each note."""
    for outcome, level in _LEVELS:
        for case in suite.of(outcome):
            # Lines with equal titles are one group in the log, so each case has its own title.
            title = _property(f"{suite.command}: {case.name}")
            yield f"::{level} title={title}::{_data(case.said or case.outcome)}\n"
    for note in suite.notes:
        yield f"::notice title={_property(suite.command)}::{_data(note)}\n"


def _data(text: str) -> str:
    """Escape the text as @actions/core does, because a line break would end the command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
