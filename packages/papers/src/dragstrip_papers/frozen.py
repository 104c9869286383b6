"""Checks whether the rules that answer a paper's claims were fixed before the data.

A campaign records the rules' version when it starts. Every page of answers gives the version that
answers and the version at the start. See `dragstrip_papers.claims.Published.rules`.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from msgspec import Struct

DIGESTS: Mapping[str, str] = MappingProxyType(
    {
        "08ede00bc6fd": "1.1.17",
        "53b5e8825608": "1.1.17",
        "1e81cd183b36": "1.1.17",
        "5f3d9780657c": "1.1.17",
        "2f20daf141ad": "1.1.17",
        "da3d8aa31679": "1.1.17",
    }
)
"""Digests of claims and code that campaigns recorded before rules had versions. Only the last
digests are here, each with the version of the same rules; older digests are shown as they are."""


class Frozen(Struct, frozen=True, kw_only=True):
    """The rules of a page of answers."""

    now: str
    """Version of the rules that the answers follow."""
    then: tuple[str, ...]
    """Versions of the rules at the time when visits began, each once; empty for a start that
    recorded none."""

    @classmethod
    def since(cls, now: str, kept: Iterable[str]) -> "Frozen":
        """Compare today's rules with earlier ones. `kept` holds what the starts of a campaign
        recorded: versions, or digests."""
        return cls(now=now, then=tuple(dict.fromkeys(DIGESTS.get(rules, rules) for rules in kept)))

    def words(self) -> str:
        """Say in one sentence whether the rules have changed; empty without a visit."""
        if not self.then:
            return ""
        older = [rules or "not kept" for rules in self.then if rules != self.now]
        if not older:
            return f"The rules that answer ({self.now}) stood before the first visit."
        return (
            f"The rules that answer ({self.now}) are not those of the day on which visits began "
            f"({', '.join(older)}): CHANGELOG.md says what changed."
        )
