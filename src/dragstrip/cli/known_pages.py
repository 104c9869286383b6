"""`dragstrip list pages`: the corpus and the recordings at hand."""

import os
from collections.abc import Iterator
from pathlib import Path

from rich.table import Table

from dragstrip.pages import corpus
from dragstrip.pages.resolve import IMPORTERS

FOLDERS = "DRAGSTRIP_PAGES"
"""Environment variable: folders of recordings, separated as in PATH."""


def list_pages(table: Table) -> None:
    """Rows for everything that can stand for PAGE."""
    for column in ("kind", "objects", "MB", "hosts", "from"):
        table.add_column(
            column, justify="right" if column in ("objects", "MB", "hosts") else "left"
        )
    table.add_row("demo", "bundled", "60", "1.5", "4", "generated: the bundled demo page")
    table.add_row("synth:64x10KB", "synthetic", "any", "any", "any", "see `dragstrip page synth`")
    told = set()
    for page in corpus.known().values():
        source = page.source if page.source not in told else ""
        told.add(page.source)
        size = f"{page.size / 1e6:.2f}"
        table.add_row(page.name, page.kind, str(page.objects), size, str(page.hosts), source)
    for path in _recordings():
        table.add_row(str(path), "recording", "", "", "", f"found by {FOLDERS}")


def _recordings() -> Iterator[Path]:
    for folder in filter(None, os.environ.get(FOLDERS, "").split(os.pathsep)):
        endings = tuple(IMPORTERS)
        yield from sorted(p for p in Path(folder).glob("*") if p.name.lower().endswith(endings))
