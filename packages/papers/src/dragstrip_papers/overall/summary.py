"""Writes the page that opens the results. Each sentence is checked against the answers that it
rests on."""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from dragstrip.model.errors import InputError
from dragstrip_papers.answer import Verdict
from dragstrip_papers.answers.missing import DECIDED
from dragstrip_papers.overall.given import WAYS
from dragstrip_papers.overall.headline import counts
from dragstrip_papers.overall.rows import Row

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


class Sentence(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One fact, with its number and its link."""

    text: str
    """Text in Markdown. Its fields are filled in: ``{wolsing2019-28}`` is a link to that claim's
    page, ``{decided}`` a count of `facts`."""
    rests_on: dict[str, Verdict] = {}
    """Claims that the sentence is about, with the answers that it assumes."""
    quotes: dict[str, list[str]] = {}
    """Numbers that the text quotes from the answers of such claims, rounded or in percent."""

    def words(self, rows: Mapping[str, Row], facts: Mapping[str, int]) -> str:
        """Return the sentence. Raises `InputError` if the claims no longer have the answers that it
        assumes."""
        for claim, answer in self.rests_on.items():
            if rows[claim].answer != answer:
                raise _stale(f"takes {claim} to be {answer}, and it is {rows[claim].answer}")
            if f"{{{claim}}}" not in self.text:
                raise _stale(f"rests on {claim}, and does not link to it")
        for claim, quoted in self.quotes.items():
            for number in quoted:
                if number not in self.text or not _says(rows[claim].ours, number):
                    raise _stale(f"quotes {number} of {claim}, which has {rows[claim].ours}")
        links = {claim: _link(row) for claim, row in rows.items()}
        return " ".join(self.text.format_map({**links, **facts}).split())


class Section(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    title: str
    sentence: list[Sentence]


class Summary(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The results that hold, that do not hold, and that are unknown, and how far to trust them."""

    lead: Sentence
    section: list[Section]

    def page(self, rows: Sequence[Row], kept: Collection[str]) -> str:
        """Return the whole page. `kept` are the pages whose loads are in the repository. Raises
        `InputError` for a sentence that the answers no longer confirm."""
        known, told = {row.id: row for row in rows}, facts(rows, kept)
        lines = ["# What still holds today", "", self.lead.words(known, told), ""]
        for section in self.section:
            lines += [f"## {section.title}", ""]
            lines += [f"- {sentence.words(known, told)}" for sentence in section.sentence]
            lines.append("")
        return "\n".join(lines)


def read(file: Path) -> Summary:
    """Read docs/results/summary.toml. Raises `InputError` for a file with an error."""
    try:
        return msgspec.toml.decode(file.read_bytes(), type=Summary)
    except msgspec.DecodeError as error:
        raise InputError(f"{file}: {error}") from None


def facts(rows: Sequence[Row], kept: Collection[str]) -> dict[str, int]:
    """Count the answers. Also count decided answers by way, answers whose loads are in the
    repository (`kept`) or were only printed (`printed`), and answers whose rules were not fixed
    before the first visit (`unfrozen`)."""
    decided = [row for row in rows if row.answer in DECIDED]
    by_way = Counter(row.way for row in decided)
    ways: dict[str, int] = {way: by_way[way] for way in WAYS}
    return counts(rows) | {
        **ways,
        "kept": sum(row.page in kept for row in decided),
        "printed": sum(row.page not in kept for row in decided),
        "unfrozen": sum(not (row.way and row.sources[row.way].frozen) for row in decided),
    }


def _says(ours: str, number: str) -> bool:
    """Return whether one of our numbers equals `number`: rounded to its decimals, without its sign,
    or in percent."""
    decimals = len(number.partition(".")[2])
    return any(
        f"{factor * abs(float(found)):.{decimals}f}" == number
        for found in _NUMBER.findall(ours)
        for factor in (1, 100)
    )


def _link(row: Row) -> str:
    return f"{row.page or 'papers'}.md#{row.id}"


def _stale(said: str) -> InputError:
    return InputError(f"docs/results/summary.toml {said}: write the sentence again")
