"""Writes docs/results/papers.md: every claim of the papers with its one answer."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import date

from dragstrip.report.words.numbers import DASH
from dragstrip.study.loader_error import predicted
from dragstrip_papers.answers.findings import VERDICTS
from dragstrip_papers.answers.missing import DECIDED
from dragstrip_papers.answers.more import TIMES
from dragstrip_papers.claims import KEYS
from dragstrip_papers.overall.given import Way
from dragstrip_papers.overall.headline import Headline, counts
from dragstrip_papers.overall.rows import Row, Source
from dragstrip_papers.report.claims import anchored

MOST = 90
"""Most characters of our number. The page of the answer and the JSON have the rest."""
COLUMNS = (
    "claim",
    "says",
    "published",
    "answer",
    "direction",
    "size",
    "today's browser",
    "its own protocols",
    "in virtual time",
    "how near",
    "from",
)
WIDE = ("---", "hide: [navigation, toc]", "---", "")
"""Front matter that makes the site leave its side columns to the table."""
INTRO = """\
Five papers compare web protocols, and make 141 claims that can be put as numbers. Each has one
answer here. How near the numbers are: [their figures beside ours](figures.md). This page is made
from the answers of all runs: `uv run python packages/papers/bench/papers.py`. The same as data:
[papers.json](papers.json). What is to be run next: [plan](plan.md).

| answer | means |
|---|---|
| reproduced | ours lies within what the claim allows |
| equivalent | the claim sees a difference; ours is smaller than the margin |
| contradicted | ours lies outside |
| not testable | no number of loads would decide it; the reason is given |
| derived | it follows from arithmetic or from our setup, whatever our loads show |
| open | it needs more cells, blocks or other loads; the claim says which |

**Direction** and **size** are decided apart: which way it goes, and how much it is. The answer is
that to the size. Where only stand-ins were loaded, or a live network is emulated by its means, no
size can be tested, and the answer is that to the direction.

Where several runs answer a claim, the way nearest to the paper counts: its own protocols, then
today's browser in real time, then the browser in virtual time, then the load generator in virtual
time, whose answers are marked *predicted*. Where only a printed number is left of the nearest, and
a farther one says the same from kept loads, that one counts. A printed number does not count where
as many kept loads of the same way say otherwise. Virtual time does not answer
[what its clock may be off by](../decisions/0127-printed-answers-by-the-default-clock.md). Today's
stand-ins, fitted to a published SpeedIndex, come before older ones. The table shows all.

**How near**: `native` means the paper's own protocols, `surrogate` today's in their place; pages
are recorded, made as the paper describes them, or stand-ins of our sizes. *n* is the least number
of loads that are compared in a cell."""


def page(rows: Sequence[Row], headlines: Iterable[Headline]) -> str:
    """Return the whole page. Raises `InputError` for a headline that the answers no longer
    confirm."""
    lines = [*WIDE, "# What became of 141 claims", "", INTRO, "", *_tally(rows), ""]
    lines += ["## In one paragraph each", ""]
    for headline in headlines:
        lines += [f"**{headline.paper}.** {headline.words(rows)}", ""]
    lines += ["## Every claim", "", *_sources(rows), ""]
    lines += ['<div id="claims" markdown="1">', "", *_table(rows), "", "</div>", ""]
    return "\n".join([*lines, '<script src="papers.js"></script>', ""])


def _tally(rows: Sequence[Row]) -> Iterator[str]:
    yield f"| paper | claims | {' | '.join(VERDICTS)} |"
    yield "|---|---" + "|---" * len(VERDICTS) + "|"
    for key in (*KEYS, ""):
        own = counts([row for row in rows if row.paper == key or not key])
        numbers = (own["all"], *(own[verdict.replace(" ", "_")] for verdict in VERDICTS))
        yield f"| {key or '**all**'} | {' | '.join(map(str, numbers))} |"


def _sources(rows: Sequence[Row]) -> Iterator[str]:
    seen = [source for row in rows for source in row.sources.values()]
    unkept = [source for source in seen if not source.rules]
    if unkept:
        first, last = (day(f(source.made for source in unkept)) for f in (min, max))
        printed = sum(any(s.printed for s in row.sources.values()) for row in rows)
        yield (
            f"Answers marked *older rules* are read from pages published between {first} and "
            f"{last}. Their capsules are not kept, and their rules were not frozen in advance. "
            "Where today's rules answer differently, or the printed numbers do not decide, "
            "[changed answers](changed-answers.md) applies, and the claim says what was printed: "
            f"{printed} claims."
        )
        yield ""
    if restated := [row.id for row in rows if row.restates]:
        yield f"{len(restated)} claims restate another in other units: {', '.join(restated)}."
        yield ""
    if any("loader" in row.sources for row in rows):
        yield f"For answers of the load generator: {predicted()}"
        yield ""
    yield from _open(rows)
    apart = [row.id for row in rows if _apart(row)]
    told = f"{len(apart)} claims: {', '.join(apart)}" if apart else "no claim"
    yield f"Two ways of answering decide differently for {told}."


def _open(rows: Sequence[Row]) -> Iterator[str]:
    """Yield what open claims need, if their loads show it."""
    wants = [row.more for row in rows if row.more]
    if not wants:
        return
    blocks, pages, others = (
        sum(want.of == of for want in wants) for of in ("blocks", "pages", None)
    )
    left = sum(row.answer == "open" for row in rows) - len(wants)
    yield (
        f"Open claims say what they need. If more loads were like those made, more blocks would "
        f"decide {blocks} of them, and more pages {pages}. {TIMES[-1]} times as many would leave "
        f"{others} open: their estimate lies too near the edge of what the claim allows. The other "
        f"{left} lack cells, or the paper's number of loads, or their loads are not kept."
    )
    yield ""


def _apart(row: Row) -> bool:
    """Return whether the claim's runs decide it differently."""
    return len({s.answer for s in row.sources.values() if s.answer in DECIDED}) > 1


def _table(rows: Sequence[Row]) -> Iterator[str]:
    yield f"| {' | '.join(COLUMNS)} |"
    yield "|---" * len(COLUMNS) + "|"
    for row in rows:
        cells = (
            f"{anchored(row.id)}<br>{row.section}",
            row.says,
            " ".join(filter(None, (row.published, row.tolerance))),
            _answer(row),
            row.direction or DASH,
            row.size or DASH,
            _ours(row.sources.get("browser")),
            _ours(row.sources.get("native")),
            _predicted(row),
            row.near + (f", n = {row.n}" if row.n else ""),
            _from(row),
        )
        yield "| " + " | ".join(text.replace("|", "\\|") for text in cells) + " |"


def _ours(source: Source | None) -> str:
    if source is None or not source.ours:
        return DASH
    return f"{short(source.ours)} ({source.answer}, n = {source.n})"


def _predicted(row: Row) -> str:
    named: dict[Way, str] = {"virtual": "browser", "loader": "load generator"}
    told = [
        f"{name}: {_ours(row.sources[way])}" for way, name in named.items() if way in row.sources
    ]
    return "; ".join(told) or DASH


def short(ours: str) -> str:
    """Return as many leading whole parts of our number as fit into `MOST` characters, at least
    one."""
    first, *others = ours.split("; ")
    if len(first) > MOST:
        return first[: MOST - 1].rsplit(" ", 1)[0] + " …"
    told = first
    for part in others:
        if len(told) + len(part) + 2 > MOST:
            return f"{told}; …"
        told += f"; {part}"
    return told


def _answer(row: Row) -> str:
    restates = f", restates {row.restates}" if row.restates else ""
    said = f"**{row.answer}**{', predicted' if row.way == 'loader' else ''}{restates}"
    notes = "; ".join(filter(None, (row.why, *row.caveats)))
    if wants := row.more or row.needs:
        return f"{said}: {notes}. Needs {wants.words()}"
    return f"{said}: {notes}" if notes else said


def _from(row: Row) -> str:
    if not row.page:
        return DASH
    source = next(source for source in row.sources.values() if source.page == row.page)
    rules = f"rules {source.rules}" if source.rules else "older rules"
    frozen = ", frozen before the first visit" if source.frozen else ""
    return f"[{row.page}]({row.page}.md#{row.id}), {day(source.made)}, {rules}{frozen}"


def day(iso: str) -> str:
    """Write a date as ``25 November 2026``."""
    given = date.fromisoformat(iso)
    return f"{given.day} {given:%B %Y}"
