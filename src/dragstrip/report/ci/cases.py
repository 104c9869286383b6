"""Test cases: a command's results in the form that CI systems show."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal

from msgspec import Struct

CaseOutcome = Literal["passed", "failed", "undecided", "broken"]
"""Result of a case. `broken` means undecided because too many loads were invalid; such a build must
not pass."""


class Case(Struct, frozen=True, kw_only=True):
    name: str
    """Name of the case, which is the same in every build: CI systems find a case's history by
    it."""
    outcome: CaseOutcome
    said: str = ""
    """Why the case has its result, in one line; empty if there is nothing to say."""


class Suite(Struct, frozen=True, kw_only=True):
    command: str
    """The command, such as ``dragstrip compare``."""
    cases: Sequence[Case]
    properties: Mapping[str, str] = MappingProxyType({})
    """Inputs of the cases, by name."""
    notes: Sequence[str] = ()
    """Sentences on the limits of the results."""

    def of(self, outcome: CaseOutcome) -> list[Case]:
        """Return the cases with this result."""
        return [case for case in self.cases if case.outcome == outcome]
