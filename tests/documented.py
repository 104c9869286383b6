"""Compares tables of the documentation with the code."""

import os
import re
from collections.abc import Iterable
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"


def check_table(name: str, rows: Iterable[tuple[str, ...]]) -> None:
    """The first table of the page has these rows; with GOLDEN=write it gets them."""
    file = DOCS / name
    text = file.read_text(encoding="utf-8")
    table = "".join(f"| {' | '.join(row)} |\n" for row in rows)
    wanted = re.sub(r"(?<=\|---\|\n)(\|.*\n)+", lambda _: table, text, count=1)
    if os.environ.get("GOLDEN") == "write":
        file.write_text(wanted, encoding="utf-8")
    assert file.read_text(encoding="utf-8") == wanted
