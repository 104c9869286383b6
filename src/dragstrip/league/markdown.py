"""Writes the league as a Markdown page. Its pictures are in a folder next to the page."""

from collections.abc import Iterable, Iterator, Sequence

from dragstrip.league import words
from dragstrip.league.result import Conformance, DisciplineResult, LeagueResult
from dragstrip.report.words.numbers import DASH


def markdown(found: LeagueResult, pictures: str) -> str:
    """Return the page's text. `pictures` is the folder of the pictures, relative to the page."""
    return "\n".join(_lines(found, pictures)) + "\n"


def _lines(found: LeagueResult, pictures: str) -> Iterator[str]:
    yield f"# The {found.family} league"
    yield from ("", f"{words.basis(found)}.", "")
    for sentence in words.HOW:
        yield from (sentence, "")
    yield from _table(("discipline", "first", "last"), (_ends(d) for d in found.disciplines))
    for one in found.disciplines:
        yield from _discipline(one, pictures)
    if found.conformance:
        yield from ("", "## Conformance", "", "The points of `dragstrip servers check`.", "")
        rows = map(_conformance, found.conformance)
        yield from _table(("server", "yes", "no", "cannot be checked"), rows)
    if found.not_measured:
        yield from ("", "## Not measured", "")
        yield from (f"- {said}" for said in found.not_measured)
    yield from ("", "## Servers", "")
    for server in found.servers:
        yield f"- **{server.name}**: {server.what}; {server.version}. {server.settings}."
        if server.source:
            yield f"  Configured as its documentation says: {server.source}."
        if server.own:
            yield f"  It decides itself: {', '.join(server.own)}."
        if server.unchecked:
            yield f"  Unchecked: {'; '.join(server.unchecked)}."
        yield from (f"  Digest of {digest}." for digest in server.digests[:1])
    if found.absent:
        yield from ("", "## Not in this league", "")
        yield from _table(("server", "why"), ((a.server, a.why) for a in found.absent))


def _discipline(one: DisciplineResult, pictures: str) -> Iterator[str]:
    yield from ("", f"## {one.title}", "", f"{one.what} {words.where(one)}.", "")
    if one.said:
        yield from (f"It did not end: {one.said}", "")
    if one.standings:
        yield from (f"![{one.title}: ratio to the fastest]({pictures}/{one.name}.svg)", "")
        rows = (
            (s.rank, s.name, words.value(one, s), words.ratio(s), str(s.blocks), words.invalid(s))
            for s in one.standings
        )
        yield from _table(("rank", "server", "mean", "ratio", "blocks", "invalid visits"), rows)
    for absent in one.left_out:
        yield from ("", f"Left out: {absent.server}, because {absent.why}.")
    if shown := [cause for cause in one.causes if cause.shown]:
        yield from ("", "Where the gaps above 10 % come from:", "")
        yield from (f"    {cause.command}" for cause in shown)
        seen = [f"- {said}" for said in words.seen(shown)]
        yield from ("", words.SEEN, "", *seen) if seen else ()


def _ends(one: DisciplineResult) -> tuple[str, str, str]:
    ranked = [s for s in one.standings if s.best is not None]
    last = max((s.worst or 0 for s in ranked), default=0)
    first = ", ".join(s.name for s in ranked if s.best == 1) or DASH
    return one.title, first, ", ".join(s.name for s in ranked if s.worst == last) or DASH


def _conformance(one: Conformance) -> tuple[str, str, str, str]:
    if one.said:
        return one.name, DASH, one.said, DASH
    return one.name, str(one.yes), "; ".join(one.no) or "0", str(len(one.unknown))


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"
