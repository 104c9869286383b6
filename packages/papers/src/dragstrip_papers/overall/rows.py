"""The rows of docs/results/papers.json: one for each claim of the papers."""

from collections.abc import Iterable, Sequence

import polars as pl
from msgspec import Struct

from dragstrip_papers.answer import Verdict
from dragstrip_papers.answers.absent import absent
from dragstrip_papers.answers.missing import DECIDED
from dragstrip_papers.answers.more import More
from dragstrip_papers.answers.noise import noiseless
from dragstrip_papers.campaign.space import reach, space
from dragstrip_papers.claims import Claim, Published, Tier
from dragstrip_papers.overall.given import IN_VIRTUAL_TIME, WAYS, Given, Told, Way, of_claim
from dragstrip_papers.overall.needs import Needs, Powers, needs


class Source(Struct, frozen=True, kw_only=True):
    """One answer, and the page that shows it."""

    answer: Verdict
    ours: str
    why: str
    more: More | None
    printed: str
    """The answer that the page prints, if today's rules give another answer or cannot tell."""
    n: int
    """Fewest loads of any cell."""
    run: int
    """Cells that were run; 0 for a published page whose capsule is not kept."""
    stacks: str
    pages: str
    page: str
    """Page in docs/results, without its suffix."""
    made: str
    rules: str
    """Version of the rules that answered, or an older digest; empty if they were not kept."""
    frozen: bool


class Row(Struct, frozen=True, kw_only=True):
    """A claim with its one answer."""

    id: str
    paper: str
    section: str
    tier: Tier
    says: str
    published: str
    tolerance: str
    answer: Verdict
    why: str
    way: Way | None
    """How the answer was found; None for one that needs no loads."""
    near: str
    """How near the answer came to the paper, ``native``, ``surrogate`` or ``none``, and the kind of
    its pages; for an open claim those of the best try."""
    ours: str
    n: int
    page: str
    """Page that shows the answer; empty if nothing was run."""
    sources: dict[Way, Source]
    """The best answer of each way."""
    needs: Needs | None
    """Needs of open claims."""
    more: More | None
    """What would decide an open claim of which all cells were run."""
    restates: str


def rows(papers: Iterable[Published], given: Sequence[Given], known: Powers) -> list[Row]:
    """All claims of these papers."""
    found = []
    for paper in papers:
        cells = space(paper.specs())
        own = [page for page in given if page.paper == paper.key]
        found += [_row(paper, claim, cells, own, known) for claim in paper.claims]
    return found


def _row(
    paper: Published, claim: Claim, cells: pl.DataFrame, given: Sequence[Given], known: Powers
) -> Row:
    sources = best(of_claim(given, claim.id))
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
        answer=answer,
        why=why,
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
    """The answer of each way that says most: a decided one first; among undecided ones that of the
    most cells; then that of the most loads, then the latest."""
    found: dict[Way, Source] = {}
    for page, told in sorted(answers, key=_weight):
        found[page.way] = Source(
            answer=told.answer,
            ours=told.ours,
            why=told.why,
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
        )
    return {way: found[way] for way in WAYS if way in found}


def _weight(answer: tuple[Given, Told]) -> tuple[int, bool, int, int, str]:
    page, told = answer
    decided = told.answer in DECIDED
    rank = 2 if decided else int(told.answer != "open")
    return rank, bool(told.ours), 0 if decided else told.run, told.loads, page.made


def _decided_by(claim: Claim, sources: dict[Way, Source], reached: pl.DataFrame) -> Way | None:
    """The way nearest to the paper that decides the claim. If none does: the nearest way that ran
    all of `reached`, the cells that the claim looks at, or else the nearest that ran any. Virtual
    time has no noise, so for a claim about noise it only stands in for runs that were never
    made."""
    if claim.predicate is None:
        return None
    ended = [way for way, source in sources.items() if source.answer in DECIDED]
    tried = [way for way, source in sources.items() if source.ours]
    if noiseless(claim.predicate, reached):
        tried = [way for way in tried if way not in IN_VIRTUAL_TIME] or tried
    whole = [way for way in tried if sources[way].run >= reached.height]
    return next(iter([*ended, *whole, *tried]), None)


def _answer(
    claim: Claim, sources: dict[Way, Source], way: Way | None, missing: str
) -> tuple[Verdict, str]:
    """The answer and its reason. Reasons in the claim itself come first: no run can change them."""
    if claim.predicate is None:
        return "not testable", claim.untestable
    if claim.setup:
        return "setup", claim.setup
    if missing:
        return "not testable", missing
    if way and sources[way].answer in DECIDED:
        return sources[way].answer, sources[way].why
    ended = [source for source in sources.values() if source.answer == "not testable"]
    if ended:
        return "not testable", ended[0].why
    return "open", sources[way].why if way else "nothing of it was run"


def _near(told: Source | None) -> str:
    if told is None or not told.ours:
        return "not run"
    return ", ".join(name for name in (told.stacks, told.pages) if name != "none") or "none needed"
