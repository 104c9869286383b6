"""Test cases: what a CI system shows of a command's findings."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal

from msgspec import Struct

CaseOutcome = Literal["passed", "failed", "undecided", "broken"]
"""`broken`: undecided, and the build must not pass, because too many loads were invalid."""


class Case(Struct, frozen=True, kw_only=True):
    name: str
    """Stays from build to build: CI systems find a case's history by it."""
    outcome: CaseOutcome
    said: str = ""
    """Why, in one line; empty where there is nothing to say."""


class Suite(Struct, frozen=True, kw_only=True):
    command: str
    """Such as ``dragstrip compare``."""
    cases: Sequence[Case]
    properties: Mapping[str, str] = MappingProxyType({})
    """What the cases were made of, by name."""
    notes: Sequence[str] = ()
    """What weakens the findings."""

    def of(self, outcome: CaseOutcome) -> list[Case]:
        """The cases with this outcome."""
        return [case for case in self.cases if case.outcome == outcome]
