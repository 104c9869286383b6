"""The answers that stand on the published pages of claims, as files for `papers.py` beside it.

    uv run python packages/papers/bench/published_answers.py        # into docs/results/answers

The capsules behind these pages are not kept, so what stands printed is all there is. Nothing is
typed by hand: answers and numbers are read from docs/results/*-claims.md and *-smoke.md, dates from
their second paragraph, the number of loads from the command that the page of all loads names, and
what today's rules make of an answer from docs/results/changed-answers.md. Where that page says that
it cannot be told, the claim is open.
"""

import re
from collections.abc import Iterator
from datetime import datetime
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import get_args

from msgspec import Struct

from dragstrip.pages import corpus
from dragstrip.report.words.numbers import DASH
from dragstrip_papers.answer import Verdict
from dragstrip_papers.answers.near import pages_of
from dragstrip_papers.campaign.plan import SMOKE_RUNS
from dragstrip_papers.campaign.space import reach, space
from dragstrip_papers.claims import KEYS, Claim, Published, published
from dragstrip_papers.overall.given import Given, Told, write
from dragstrip_papers.predicates import stacks_of

RESULTS = Path(__file__).parents[3] / "docs" / "results"
COMMAND = "uv run python packages/papers/bench/published_answers.py"
OLD_WORDS = {"not decided at this scale": "open", "not testable here": "not testable"}
VERDICTS = get_args(Verdict)
DATE = re.compile(r"Published on (.+?) with commit")
PLAIN = re.compile(rf"({'|'.join(VERDICTS)})\b(?!,? (if|or) )")
"""What stands in the column `today` where it can be told: a verdict without a condition."""


class Change(Struct, frozen=True):
    """A line of docs/results/changed-answers.md."""

    page: str
    claims: frozenset[int]
    printed: str
    today: str
    why: str


def main() -> None:
    changes = list(changed((RESULTS / "changed-answers.md").read_text()))
    (RESULTS / "answers").mkdir(exist_ok=True)
    for file in published_pages():
        print(write(RESULTS / "answers", given(file, changes)))


def published_pages() -> list[Path]:
    """Pages of claims that say when they were published; newer ones come with a file of answers."""
    found = sorted([*RESULTS.glob("*-claims.md"), *RESULTS.glob("*-smoke.md")])
    return [file for file in found if DATE.search(file.read_text())]


def given(file: Path, changes: list[Change]) -> Given:
    text = file.read_text()
    key = next(key for key in KEYS if file.stem.startswith(key))
    native = "-native" in file.stem
    paper = published(key).native() if native else published(key)
    said = DATE.search(text)
    assert said, f"{file} names no date"
    return Given(
        paper=key,
        page=file.stem,
        way="native" if native else "browser",
        made=f"{datetime.strptime(said[1], '%d %B %Y'):%Y-%m-%d}",
        rules="",
        frozen=False,
        source="published page",
        command=COMMAND,
        answers=tuple(
            _told(row, file.stem, paper, _loads(text, key), changes) for row in rows(text)
        ),
    )


def rows(text: str) -> Iterator[list[str]]:
    """The cells of each line of the table of claims."""
    for line in text.splitlines():
        if re.match(r"\| \w+-\d\d \|", line):
            yield [c.strip().replace("\\|", "|") for c in re.split(r"(?<!\\)\|", line)[1:-1]]


def _told(row: list[str], page: str, paper: Published, loads: int, changes: list[Change]) -> Told:
    claim = next(claim for claim in paper.claims if claim.id == row[0])
    ours = re.sub(r"\s*\(servers: \d+\)", "", row[5]).removeprefix(DASH).strip()
    bold = re.match(r"\*\*(.+?)\*\*[:;,]?\s*(.*)", row[6])
    assert bold, row
    printed = OLD_WORDS.get(bold[1], bold[1])
    answer, why, was = printed, bold[2], ""
    for change in changes:
        number = int(claim.id[-2:])
        if change.page == page and number in change.claims and change.printed == printed:
            answer, why, was = today(change, printed, why)
    stacks, pages = _near(paper, claim)
    return Told(
        id=claim.id,
        answer=answer,
        ours=ours,
        why=why,
        printed=was,
        stacks=stacks,
        pages=pages,
        loads=loads if ours else 0,
    )


def today(change: Change, printed: str, why: str) -> tuple[str, str, str]:
    """The answer by today's rules, why, and what was printed if that was another."""
    found = PLAIN.match(change.today)
    if found and "cannot be told" not in change.today:
        if found[1] == printed:
            return printed, why, ""
        return found[1], f"{change.why} (printed as {printed} by older rules)", printed
    return "open", f"printed as {printed} by older rules; by today's: {change.today}", printed


def changed(text: str) -> Iterator[Change]:
    """Every line of the page's tables, once for each page of claims it speaks of."""
    pages: list[str] = []
    why = ""
    for line in text.splitlines():
        if line.startswith("## "):
            pages = re.findall(r"\((\S+?)\.md\)", line)
        elif re.match(r"\| \d", line):
            cells = [cell.strip() for cell in line.split("|")[1:-1]]
            why = why if cells[3] == "as above" else cells[3]
            only = [p for p in pages if "(native)" not in cells[0] or "-native" in p]
            for page in only:
                yield Change(page, numbers(cells[0]), _printed(cells[1]), cells[2], why)


def numbers(said: str) -> frozenset[int]:
    """``18, 19, 23 to 26`` as numbers of claims."""
    found = re.findall(r"(\d+)(?: to (\d+))?", said)
    return frozenset(n for low, high in found for n in range(int(low), int(high or low) + 1))


def _printed(said: str) -> str:
    return next((verdict for verdict in VERDICTS if said.startswith(verdict)), said)


def _loads(text: str, key: str) -> int:
    """Loads a cell, by the command that the page of all loads names; at scale smoke five."""
    link = re.search(r"\[Every load[^]]*\]\((\S+?)\)", text)
    if not link:
        return SMOKE_RUNS
    scale = re.search(r"--scale (\S+)", (RESULTS / link[1]).read_text())
    assert scale, link[1]
    return ceil(published(key).specs()[0].runs * Fraction(scale[1]))


def _near(paper: Published, claim: Claim) -> tuple[str, str]:
    if claim.predicate is None:
        return "none", "none"
    specs = paper.specs()
    reached = reach(claim.predicate, space(specs, paper.parts))
    named = stacks_of(claim.predicate, paper.stacks(specs))
    standins = {
        name.replace("/", "-") for name, p in corpus.known().items() if p.kind == "stand-in"
    }
    kind = "native" if paper.cast else "surrogate"
    return kind if named else "none", pages_of(reached["page"].unique(), standins)


if __name__ == "__main__":
    main()
