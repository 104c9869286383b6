"""`dragstrip list papers`: lists the papers."""

from rich.table import Table

from dragstrip_papers.claims import KNOWN, published


def list_papers(table: Table) -> None:
    """Add a row for every paper that is known by name."""
    for column in ("claims", "studies", "title", "venue"):
        table.add_column(column)
    for key in KNOWN:
        known = published(key)
        table.add_row(
            key,
            str(len(known.claims)),
            str(len(known.studies)),
            known.paper.title,
            known.paper.venue,
        )
