"""`dragstrip list pages`: the corpus and the recordings on this machine."""

import os
from collections.abc import Iterator
from pathlib import Path

from rich.table import Table

from dragstrip.pages import corpus
from dragstrip.pages.importers.kinds import IMPORTERS

FOLDERS = "DRAGSTRIP_PAGES"
"""Environment variable with folders of recordings, separated as in PATH."""


def list_pages(table: Table) -> None:
    """Add a row for every page that PAGE can name."""
    for column in ("kind", "objects", "MB", "hosts"):
        table.add_column(column, justify="left" if column == "kind" else "right")
    table.add_row("demo", "bundled", "60", "1.5", "4")
    table.add_row("synth:64x10KB", "synthetic", "any", "any", "any")
    sources: dict[str, str] = {}
    for page in corpus.known().values():
        sources.setdefault(page.source, page.name.partition("/")[0])
        size = f"{page.size / 1e6:.2f}"
        kind = f"{page.kind}, {page.like}'s SpeedIndex" if page.like else page.kind
        table.add_row(page.name, kind, str(page.objects), size, str(page.hosts))
    for path in _recordings():
        table.add_row(str(path), f"found by {FOLDERS}", "", "", "")
    table.caption = "\n".join(f"{name}: {source}" for source, name in sources.items())
    table.caption_justify = "left"


def _recordings() -> Iterator[Path]:
    for folder in filter(None, os.environ.get(FOLDERS, "").split(os.pathsep)):
        endings = tuple(IMPORTERS)
        yield from sorted(p for p in Path(folder).glob("*") if p.name.lower().endswith(endings))
