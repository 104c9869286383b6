"""Makes the rows of docs/results/papers.json: one for each claim of the papers."""

from collections.abc import Iterable, Sequence

import polars as pl
from msgspec import Struct, structs

from dragstrip.model.clock import ClockKind
from dragstrip_papers.answer import Verdict
from dragstrip_papers.answers.absent import absent
from dragstrip_papers.answers.missing import DECIDED
from dragstrip_papers.answers.more import More
from dragstrip_papers.answers.noise import noiseless
from dragstrip_papers.campaign.space import reach, space
from dragstrip_papers.claims import Claim, Published, Tier
from dragstrip_papers.overall.given import IN_VIRTUAL_TIME, WAYS, Given, Told, Way, of_claim
from dragstrip_papers.overall.needs import Needs, Powers, needs
from dragstrip_papers.overall.reread import reread
from dragstrip_papers.parts import about


class Source(Struct, frozen=True, kw_only=True):
    """One answer to a claim, and the page that shows it."""

    answer: Verdict
    direction: Verdict | None
    size: Verdict | None
    clock: ClockKind
    ours: str
    why: str
    caveats: tuple[str, ...]
    """Notes that must accompany the answer."""
    more: More | None
    printed: str
    """The answer that the page prints, if today's rules give another answer or cannot tell;
    otherwise empty."""
    n: int
    """Fewest loads of any cell that are compared."""
    run: int
    """Number of cells that were run; 0 for a published page whose capsule is not kept."""
    stacks: str
    pages: str
    page: str
    """Page in docs/results, without its suffix."""
    made: str
    rules: str
    """Version of the rules that answered, or an older digest; empty if they were not recorded."""
    frozen: bool
    from_loads: bool
    """Whether today's rules answered from the loads. Otherwise the answer is read from the number
    that the page prints."""
    aside: str
    """Why the answer ranks behind those of all other runs, see
    `dragstrip_papers.overall.given.Given`."""


class Row(Struct, frozen=True, kw_only=True):
    """A claim with its one answer."""

    id: str
    paper: str
    section: str
    tier: Tier
    says: str
    published: str
    tolerance: str
    population: str
    """What the claim is about, see `dragstrip_papers.populations`; empty without a predicate."""
    answer: Verdict
    direction: Verdict | None
    """The answer on the claim's direction; None for a claim that names no direction."""
    size: Verdict | None
    """The answer on the claim's size; None for a claim that names no size."""
    why: str
    caveats: tuple[str, ...]
    """Notes that must accompany the answer; empty for one without loads."""
    way: Way | None
    """How the loads behind the answer were made; None for an answer that needs no loads."""
    near: str
    """How near the answer came to the paper: ``native``, ``surrogate`` or ``none``, and the kind of
    its pages. For an open claim, this is about the best attempt."""
    ours: str
    n: int
    page: str
    """Page that shows the answer; empty if nothing was run."""
    sources: dict[Way, Source]
    """The best answer of each way of running."""
    needs: Needs | None
    """What an open claim needs; None for others."""
    more: More | None
    """What would decide an open claim all of whose cells were run; None for others."""
    restates: str


def rows(papers: Iterable[Published], given: Sequence[Given], known: Powers) -> list[Row]:
    """Return a row for each claim of these papers."""
    found = []
    for paper in papers:
        cells = space(paper.specs())
        own = [page for page in given if page.paper == paper.key]
        found += [_row(paper, claim, cells, own, known) for claim in paper.claims]
    return found


def _row(
    paper: Published, claim: Claim, cells: pl.DataFrame, given: Sequence[Given], known: Powers
) -> Row:
    sources = best(today(paper, claim, given))
    reached = reach(claim.predicate, cells)
    way = _decided_by(claim, sources, reached)
    answer, why = _answer(claim, sources, way, absent(claim, reached))
    shown = way or next(iter(sources), None)
    told = sources[shown] if shown else None
    return Row(
        **{
            name: getattr(claim, name)
            for name in ("id", "section", "tier", "says", "published", "tolerance", "restates")
        },
        paper=paper.key,
        population=about(claim.predicate) if claim.predicate else "",
        answer=answer,
        direction=_column(told.direction if told else None, answer),
        size=_column(told.size if told else None, answer),
        why=why,
        caveats=told.caveats if told and told.ours else (),
        way=way if answer in DECIDED else None,
        near=_near(told),
        ours=told.ours if told else "",
        n=told.n if told else 0,
        page=told.page if told and told.ours else "",
        sources=sources,
        needs=needs(claim, paper, reached, known.get(claim.id, {})) if answer == "open" else None,
        more=told.more if told and answer == "open" else None,
    )


def best(answers: Iterable[tuple[Given, Told]]) -> dict[Way, Source]:
    """Return for each way of running the answer that says most.

    An answer that decides the size comes first, then one that decides the direction. Among others,
    the one with the most cells comes first, then one that more loads could decide. Then an answer
    from loads comes before one that is read from a printed number, then one on today's pages before
    one on older stand-ins, then the one with the most loads, then the latest. A printed number does
    not count where as many kept loads say otherwise. The result lists the ways nearest to the paper
    first, and runs that stand aside last.
    """
    found: dict[Way, Source] = {}
    for page, told in sorted(_not_outdone(list(answers)), key=_weight):
        found[page.way] = Source(
            answer=told.answer,
            direction=told.direction,
            size=told.size,
            clock=page.clock,
            ours=told.ours,
            why=told.why,
            caveats=told.caveats,
            more=told.more,
            printed=told.printed,
            n=told.loads,
            run=told.run,
            stacks=told.stacks,
            pages=told.pages,
            page=page.page,
            made=page.made,
            rules=page.rules,
            frozen=page.frozen,
            from_loads=page.source == "capsule",
            aside=page.aside,
        )
    there = [way for way in WAYS if way in found]
    return {way: found[way] for way in sorted(there, key=lambda way: bool(found[way].aside))}


def _not_outdone(answers: Sequence[tuple[Given, Told]]) -> list[tuple[Given, Told]]:
    """Return the answers without those read from a printed number where a run of the same way kept
    as many loads of as many cells."""
    kept = [(page, told) for page, told in answers if page.source == "capsule" and told.ours]
    return [
        (page, told)
        for page, told in answers
        if page.source == "capsule"
        or not any(
            other.way == page.way and not other.aside and _outdoes(again, told)
            for other, again in kept
        )
    ]


def _outdoes(kept: Told, printed: Told) -> bool:
    """Return whether kept loads are as many, of as many cells. If how many cells were printed is
    not known, the kept ones must decide the claim, or more like them would."""
    whole = kept.answer in DECIDED or (kept.more is not None and kept.more.of is not None)
    there = kept.run >= printed.run if printed.run else whole
    return there and kept.loads >= printed.loads


def today(paper: Published, claim: Claim, given: Iterable[Given]) -> list[tuple[Given, Told]]:
    """Return all answers to a claim of `paper` under today's rules, each with its page."""
    return [_today(paper, claim, page, told) for page, told in of_claim(given, claim.id)]


def _today(paper: Published, claim: Claim, page: Given, told: Told) -> tuple[Given, Told]:
    """Return the answer under today's rules, with its page. If other rules gave the answer, it is
    read from the printed number, and today's rules were not fixed before the visits."""
    if _of_claims(page.rules) == _of_claims(paper.rules):
        return page, told
    printed = structs.replace(page, frozen=False, source="published page")
    return printed, reread(claim, page, told)


def _of_claims(rules: str) -> str:
    """Return the version without its last part, the verdict's, which concerns only whether visits
    count."""
    return rules.rpartition(".")[0]


def _column(verdict: Verdict | None, answer: Verdict) -> Verdict | None:
    """Return a column of a claim; None if no run can change the claim's answer."""
    return None if answer == "derived" else verdict


def _weight(answer: tuple[Given, Told]) -> tuple[int, int, bool, bool, bool, int, str]:
    page, told = answer
    open_ = told.answer == "open"
    decided = told.answer in DECIDED
    rank = 3 + _sized(told.size) if decided else 2 if told.ours else 0 if open_ else 1
    cells = 0 if decided else told.run
    from_loads, todays = page.source == "capsule", told.pages != "chosen stand-in"
    return rank, cells, open_, from_loads, todays, told.loads, page.made


def _decided_by(claim: Claim, sources: dict[Way, Source], reached: pl.DataFrame) -> Way | None:
    """Return the way nearest to the paper that decides the claim: its size, or else its direction.
    If only a printed number is left of it, and a farther way says the same from loads, return that.
    If no way decides, return the nearest way that ran all of `reached`, the cells that the claim is
    about, or else the nearest that ran any of them. A way whose pages cannot test the claim ranks
    behind a way whose pages can and that ran as many cells. Virtual time has no noise, so for a
    claim about noise it counts only if no other way was run."""
    if claim.predicate is None:
        return None
    ended = [way for way, source in sources.items() if source.answer in DECIDED]
    ended.sort(key=lambda way: not _sized(sources[way].size))
    ended = [*_derivable(ended, sources), *ended]
    tried = [way for way, source in sources.items() if source.ours]
    if noiseless(claim.predicate, reached):
        tried = [way for way in tried if way not in IN_VIRTUAL_TIME] or tried
    most = max((sources[way].run for way in tried if sources[way].answer != "open"), default=0)
    could = [way for way in tried if sources[way].answer == "open" and sources[way].run >= most]
    tried = could or [way for way in tried if sources[way].answer != "open"]
    whole = [way for way in tried if sources[way].run >= reached.height]
    return next(iter([*ended, *whole, *tried]), None)


def _derivable(ways: Sequence[Way], sources: dict[Way, Source]) -> list[Way]:
    """Return those of these ways that answer as the first of them does, from loads."""
    told = [(sources[way].answer, sources[way].direction, sources[way].size) for way in ways]
    return [
        way
        for way, one in zip(ways, told, strict=True)
        if sources[way].from_loads and one == told[0]
    ]


def _sized(size: Verdict | None) -> bool:
    """Return whether the claim's size is decided. A claim that names no size counts as decided."""
    return size is None or size in DECIDED


def _answer(
    claim: Claim, sources: dict[Way, Source], way: Way | None, missing: str
) -> tuple[Verdict, str]:
    """Return the answer and its reason. Reasons that lie in the claim itself come first, because no
    run can change them."""
    if claim.predicate is None:
        return "not testable", claim.untestable
    if claim.derived:
        return "derived", claim.derived
    if missing:
        return "not testable", missing
    if way and sources[way].answer in DECIDED:
        return sources[way].answer, sources[way].why
    told = sources[way] if way else None
    if told and told.answer == "not testable":
        return "not testable", told.why
    return "open", told.why if told else "nothing of it was run"


def _near(told: Source | None) -> str:
    if told is None or not told.ours:
        return "not run"
    return ", ".join(name for name in (told.stacks, told.pages) if name != "none") or "none needed"
