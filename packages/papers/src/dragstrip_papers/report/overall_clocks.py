"""Writes docs/results/clocks.md: what the browser's two virtual clocks answer."""

from collections.abc import Iterator, Sequence

from dragstrip.report.words.numbers import DASH
from dragstrip_papers.answers.missing import DECIDED
from dragstrip_papers.overall.clocks import ByClock
from dragstrip_papers.overall.rows import Source
from dragstrip_papers.report.overall import WIDE, short
from dragstrip_papers.report.overall_plan import WAYS

INTRO = """\
Made by `uv run python packages/papers/bench/papers.py`. It lists each claim that the browser in
virtual time decides. By **the network alone** (`--virtual --no-computing`) computing takes no time;
by **the default clock** (`--virtual`) it takes
[the time it is priced at](../reference/virtual-computing.md).

Two answers agree if both clocks decide the claim, and give its direction and its size the same
answer. Their campaigns differ in more than the clock: in blocks, in how long QUIC waits, and in the
origin's version. The pages behind the links say in what."""


def page(found: Sequence[ByClock]) -> str:
    """Return the whole page."""
    lines = [*WIDE, "# What the two virtual clocks answer", "", INTRO, "", _tally(found), ""]
    return "\n".join([*lines, *_table(found), ""])


def _tally(found: Sequence[ByClock]) -> str:
    resting = [one for one in found if one.row.way == "virtual"]
    alone = sum(one.alone for one in resting)
    by_default = sum(one.decided for one in found)
    both = [one for one in found if one.both]
    apart = [one.row.id for one in both if not one.agree]
    told = f" They differ on {', '.join(apart)}." if apart else ""
    left = sum(not one.decided for one in resting)
    return (
        f"{len(resting)} claims rest on the browser in virtual time, and {alone} of them on "
        f"nothing else. The default clock decides {by_default} claims of this list. Both clocks "
        f"decide {len(both)}, and agree on {len(both) - len(apart)}.{told} {left} claims that rest "
        "on virtual time have no answer by the default clock."
    )


def _table(found: Sequence[ByClock]) -> Iterator[str]:
    yield "| claim | says | the network alone | the default clock | agree | other ways |"
    yield "|---|---|---|---|---|---|"
    for one in found:
        cells = (
            one.row.id,
            one.row.says,
            _told(one.row.id, one.network),
            _told(one.row.id, one.computing),
            ("yes" if one.agree else "**no**") if one.both else DASH,
            _others(one),
        )
        yield "| " + " | ".join(text.replace("|", "\\|") for text in cells) + " |"


def _others(one: ByClock) -> str:
    """Return the answers of the other ways that decide the claim."""
    decided = {
        way: source.answer
        for way, source in one.row.sources.items()
        if way != "virtual" and source.answer in DECIDED
    }
    return ", ".join(f"{WAYS[way]}: {answer}" for way, answer in decided.items()) or DASH


def _told(claim: str, source: Source | None) -> str:
    if source is None:
        return DASH
    columns = [
        f"{name} {verdict}"
        for name, verdict in (("direction", source.direction), ("size", source.size))
        if verdict and verdict != source.answer
    ]
    notes = f" ({', '.join(columns)})" if columns else ""
    said = short(source.ours) if source.answer in DECIDED else source.why
    return f"[{source.answer}]({source.page}.md#{claim}){notes}: {said}, n = {source.n}"
