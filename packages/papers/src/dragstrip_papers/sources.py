"""A publication that claims are taken from, and how much of it was read for them."""

from typing import Literal

from msgspec import Struct

Read = Literal["in full", "in part", "abstract", "second-hand"]
"""How much of a source was read. `second-hand` means that only what others say of it was read; for
the rest the source itself was read."""


class Source(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    id: str
    title: str
    authors: str
    year: int
    venue: str
    link: str
    """A DOI, an arXiv number or an address of the publication."""
    read: Read
    note: str = ""

    def words(self) -> str:
        """Return the whole reference in one sentence, with how it was read."""
        read = self.read if self.read == "second-hand" else f"read {self.read}"
        if self.read == "abstract":
            read = "only its abstract was read"
        told = f"{read}; {self.note}" if self.note else read
        return f"{self.authors}, {self.title}, {self.venue}, {self.year}, {self.link} ({told})"
