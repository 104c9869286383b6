"""Says how close the run came to the paper: to its protocols, its pages and its number of loads."""

from collections.abc import Collection, Iterable
from typing import Literal

from msgspec import Struct

from dragstrip.pages import corpus
from dragstrip_papers.campaign.clients import ClientName

Stacks = Literal["native", "surrogate", "none"]
Pages = Literal["recorded", "as described", "stand-in", "chosen stand-in", "none"]


class Closeness(Struct, frozen=True, kw_only=True):
    stacks: Stacks
    """`native` if stacks of the paper's own time were used throughout; `surrogate` if today's
    stacks stood for them; `none` if no stack is needed."""
    pages: Pages
    """`recorded` if the pages were recorded somewhere; `as described` if they were made from
    everything that the paper says of them; `stand-in` if they only stand for the paper's, and
    `chosen stand-in` if today's are fitted and these are older, with sizes of our choice."""
    loads: int
    """Fewest loads of any cell that was run; 0 if no cell was."""
    asked: int
    """Number of loads in the paper."""
    run: int
    cells: int
    client: ClientName = "browser"
    changed: tuple[str, ...] = ()
    """What the claim's stacks have of their own, unlike the paper's studies, in words."""

    def words(self) -> str:
        """Say it in words: ``by surrogates, on stand-ins, 7 of 31 loads, 8 of 38 cells``; for the
        load generator ``predicted, by surrogates, ...``."""
        predicted = "predicted" if self.client == "loader" and self.run else ""
        said = {"native": "by its own protocols", "surrogate": "by surrogates"}.get(self.stacks)
        on = {
            "recorded": "on recordings",
            "as described": "on pages as described",
            "stand-in": "on stand-ins",
            "chosen stand-in": "on chosen stand-ins",
        }.get(self.pages)
        loads = f"{self.loads} of {self.asked} loads" if self.run else ""
        cells = f"{self.run} of {self.cells} cells" if self.run < self.cells else ""
        changed = "; ".join(self.changed)
        return ", ".join(filter(None, (predicted, said, changed, on, loads, cells)))


def pages_of(
    pages: Iterable[str], standins: Collection[str], chosen: Collection[str] = ()
) -> Pages:
    """Return the kind of these pages that is furthest from the paper. `standins` are the pages that
    are stand-ins, and `chosen` those of them that are older than today's."""
    known = {name.replace("/", "-") for name in corpus.known()}
    kinds = {
        "chosen stand-in"
        if page in chosen
        else "stand-in"
        if page in standins
        else "as described"
        if page in known or page.startswith("synth")
        else "recorded"
        for page in pages
    }
    order: tuple[Pages, ...] = ("chosen stand-in", "stand-in", "recorded", "as described")
    return next((kind for kind in order if kind in kinds), "none")
