"""Writes sentences on a reader's changes, one for all changes of the same kind."""

from collections.abc import Iterable, Sequence

from dragstrip.pages.format.recording import one_line

_NAMED = 6


def listed(names: Sequence[str], most: int = _NAMED) -> str:
    """Return the first `most` names in words: ``a, b and 3 more``."""
    shown = ", ".join(one_line(name)[:120] for name in names[:most])
    more = len(names) - most
    return f"{shown} and {more} more" if more > 0 else shown


class Notes:
    """Collects changes, and the records that each change applies to."""

    def __init__(self) -> None:
        self._places: dict[str, list[str]] = {}

    def add(self, what: str, where: str) -> None:
        self._places.setdefault(what, []).append(where)

    def sentences(self) -> Iterable[str]:
        """Yield one sentence per change: ``2 records left out, their block is empty: record 3
        (...), record 5 (...)``."""
        for what, where in self._places.items():
            yield f"{len(where)} {what}: {listed(where)}"
