"""Writes a paragraph on each paper that can be quoted, and checks it against the answers that it
names."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from dragstrip.model.errors import InputError
from dragstrip_papers.answer import Verdict
from dragstrip_papers.answers.findings import VERDICTS
from dragstrip_papers.overall.rows import Row


class Headline(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A paragraph on the parts of a paper that hold today, that never held, and that are
    unknown."""

    paper: str
    text: str
    """The paragraph, with counts of its answers as fields: ``{reproduced}``, ``{not_testable}``,
    ``{all}``."""
    rests_on: dict[str, Verdict]
    """Claims that the text is about, by number, with the answers that the text assumes."""
    quotes: dict[str, str] = {}
    """Numbers that the text quotes from the answers of such claims, by claim."""

    def words(self, rows: Sequence[Row]) -> str:
        """Return the paragraph. Raises `InputError` if the claims no longer have the answers that
        the text assumes."""
        own = {row.id: row for row in rows if row.paper == self.paper}
        for number, answer in self.rests_on.items():
            row = own[f"{self.paper}-{number}"]
            if row.answer != answer:
                raise InputError(
                    f"the headline of {self.paper} takes {row.id} to be {answer}, and it is "
                    f"{row.answer}: write the headline anew"
                )
        for number, quoted in self.quotes.items():
            ours = own[f"{self.paper}-{number}"].ours
            if quoted not in self.text or quoted not in ours:
                raise InputError(
                    f"the headline of {self.paper} quotes {quoted} of claim {number}, which has "
                    f"{ours or 'no number'}: write the headline anew"
                )
        return " ".join(self.text.format(**counts(list(own.values()))).split())


class _File(Struct, forbid_unknown_fields=True):
    headline: list[Headline]


def headlines(file: Path) -> list[Headline]:
    """Read docs/results/headlines.toml. Raises `InputError` for a file with an error."""
    try:
        return msgspec.toml.decode(file.read_bytes(), type=_File).headline
    except msgspec.DecodeError as error:
        raise InputError(f"{file}: {error}") from None


def counts(rows: Sequence[Row]) -> dict[str, int]:
    """Count the claims by answer, with ``_`` for spaces. Also count those that are `decided`, those
    that hold in their direction while their size is open or cannot be tested (`in_direction`), and
    `all`."""
    found = Counter(row.answer for row in rows)
    named = {verdict.replace(" ", "_"): found[verdict] for verdict in VERDICTS}
    decided = found["reproduced"] + found["equivalent"] + found["contradicted"]
    half = sum(row.answer == "reproduced" and row.size in ("not testable", "open") for row in rows)
    return named | {"all": len(rows), "decided": decided, "in_direction": half}
