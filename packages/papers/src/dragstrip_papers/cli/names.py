"""Completes words in a shell for `dragstrip reproduce`: names of papers, and names in the paper
that was typed before."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import typer

from dragstrip.cli.options import beginning

if TYPE_CHECKING:
    from dragstrip_papers.claims import Published

Complete = Callable[[typer.Context, str], list[str]]


def paper_keys(incomplete: str) -> list[str]:
    from dragstrip_papers.claims import KNOWN  # loads slowly

    return beginning(KNOWN, incomplete)


def _of_paper(names: Callable[["Published"], Iterable[str]]) -> Complete:
    def complete(context: typer.Context, incomplete: str) -> list[str]:
        from dragstrip_papers.claims import KNOWN, published

        # `args` has the words that the parser has not assigned yet.
        key = next((word for word in (context.params.get("key"), *context.args) if word), "")
        every = dict.fromkeys(names(published(key))) if key in KNOWN else ()
        return beginning(every, incomplete)

    return complete


paper_studies = _of_paper(lambda paper: (o.name for o in paper.specs()))
paper_stacks = _of_paper(lambda paper: (s.name for o in paper.specs() for s in o.stacks))
paper_networks = _of_paper(lambda paper: (n.name for o in paper.specs() for n in o.networks))
paper_pages = _of_paper(lambda paper: (page for o in paper.specs() for page in o.pages))
paper_claims = _of_paper(
    lambda paper: (c.id.rpartition("-")[2] for c in paper.claims if c.predicate)
)
