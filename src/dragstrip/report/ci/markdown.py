"""Writes the Markdown of summaries, for a CI system's page or a comment on a change."""

import re
from collections.abc import Iterable, Sequence

_SPECIAL = re.compile(r"([\\`*_\[\]<>|])")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table."""
    lines = [_row(head), f"|{'---|' * len(head)}"]
    return lines + [_row(row) for row in rows]


def plain(text: str) -> str:
    """Write the text on one line, with Markdown's special characters escaped."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(plain, cells))} |"
