"""The answers to a paper's claims: the content of `claims.json` and of the claims page."""

from collections import Counter
from collections.abc import Mapping, Sequence

import polars as pl
from msgspec import Struct, structs

from dragstrip.model.clock import REAL, Clock
from dragstrip.model.stack import Stack
from dragstrip.study.gaps import servers
from dragstrip.study.loader_error import predicted
from dragstrip.study.spec import StudySpec
from dragstrip.verdict.rules import VERSION
from dragstrip_papers.answer import Answer, Verdict
from dragstrip_papers.answers.absent import absent
from dragstrip_papers.answers.caveats import caveats
from dragstrip_papers.answers.clock_error import too_near
from dragstrip_papers.answers.missing import DECIDED
from dragstrip_papers.answers.more import More, more
from dragstrip_papers.answers.near import Closeness, Stacks, pages_of
from dragstrip_papers.answers.noise import noiseless
from dragstrip_papers.answers.predicted import beyond, without_shares
from dragstrip_papers.answers.ran import Made, Ran
from dragstrip_papers.campaign.clients import ClientName
from dragstrip_papers.campaign.space import CELL, reach, space
from dragstrip_papers.claims import Claim, Published, Tier
from dragstrip_papers.deciding import direction
from dragstrip_papers.frozen import Frozen
from dragstrip_papers.measured import Evidence, Key
from dragstrip_papers.parts import about
from dragstrip_papers.predicates import AnyPredicate, stacks_of
from dragstrip_papers.sites import as_loaded, older
from dragstrip_papers.sources import Source

VERDICTS: tuple[Verdict, ...] = (
    "reproduced",
    "equivalent",
    "contradicted",
    "not testable",
    "derived",
    "open",
)


NO_NUMBERS: Mapping[Key, int] = {}
NO_COMPUTING = "computing decides it, and takes no time in virtual time"


class Place(Struct, frozen=True, kw_only=True):
    """A cell of one of the paper's studies. The study's capsule has the study's name."""

    study: str
    page: str
    network: str
    connection: str
    blocks: int = 0
    """Number of blocks that count."""
    number: int = 0
    """Number of the cell in the capsule's study, from 1; 0 if the capsule is missing."""


class Finding(Struct, frozen=True, kw_only=True):
    """One claim: what the paper published, our number, and the answer."""

    id: str
    source: str
    """The paper's source that states the claim; empty if the paper itself is the source."""
    read: str
    """How much of the source was read, see `dragstrip_papers.sources`; empty without a source."""
    section: str
    tier: Tier
    says: str
    published: str
    tolerance: str
    note: str
    verdict: Verdict
    direction: Verdict | None = None
    """The answer on the claim's direction; None for a claim that names no direction."""
    size: Verdict | None = None
    """The answer on the claim's size; None for a claim that names no size."""
    population: str = ""
    """What the claim is about, see `dragstrip_papers.populations`; empty without a predicate."""
    ours: str
    """Our number with its 95 % interval; empty if there is no number."""
    why: str
    more: More | None = None
    """How many more loads would decide an open claim, see `dragstrip_papers.answers.more`."""
    surrogates: dict[str, str]
    """Surrogate stacks, each with the paper's stack that it stood for; empty if no surrogate
    ran."""
    players: dict[str, str]
    """Stacks of the paper's own time, each by the surrogate that it replaces."""
    servers: str
    """The servers of the claim's stacks, and by how much they differ, see `dragstrip.study.gaps`;
    empty if there was only one server."""
    near: Closeness
    restates: str
    """The claim that gives this number in another unit; empty for a claim that restates none and is
    counted."""
    caveats: tuple[str, ...]
    cells: int
    """Number of cells in our studies that the claim is about."""
    behind: tuple[Place, ...]
    """Cells of the claim that were run."""

    @property
    def unrun(self) -> bool:
        """Whether the claim is open and none of its cells was run."""
        return self.verdict == "open" and self.cells > 0 and not self.behind


class Findings(Struct, frozen=True, kw_only=True):
    paper: str
    title: str
    authors: str
    venue: str
    rules: int
    """Version of the verdict's rules, by which all visits were judged."""
    frozen: Frozen
    """The version of the rules that answer now, and the versions at the time when the visits
    began."""
    verdicts: dict[str, int]
    """Number of claims by answer, without claims that restate another."""
    restated: int
    cells_run: int
    cells_total: int
    left_out: tuple[Place, ...]
    """Cells without a block that counts."""
    made: tuple[Made, ...]
    sources: tuple[Source, ...]
    choices: tuple[str, ...]
    """Choices that the paper leaves open, and how we made each."""
    chosen: tuple[str, ...] = ()
    """Stand-ins that were chosen, see `dragstrip_papers.sites`."""
    surrogates: dict[str, str]
    client: ClientName = "browser"
    clock: Clock = REAL
    began: str = ""
    """Date of the last start, as in 2026-11-25."""
    predicted: str = ""
    """The load generator's error against browsers, in words; empty if a browser made the visits."""
    cast: dict[str, str]
    """Stacks that replaced surrogates, by surrogate, if the paper's own protocols were run;
    otherwise empty."""
    claims: tuple[Finding, ...]

    @property
    def servers(self) -> dict[str, str]:
        """Every sentence on servers once, with its number as a note."""
        said = dict.fromkeys(c.servers for c in self.claims if c.servers)
        return {sentence: str(number) for number, sentence in enumerate(said, 1)}


def findings(
    paper: Published,
    specs: Sequence[StudySpec],
    ran: Ran,
    evidence: Evidence,
    numbers: Mapping[Key, int] = NO_NUMBERS,
) -> Findings:
    """Answer every claim from the loads in `evidence`, which were made as `ran` says. `numbers` are
    the cells' numbers in the capsules beside the page."""
    asked_for = space(specs, paper.parts)
    there = asked_for.with_columns(pl.col("page").replace(as_loaded(evidence.loads)))
    cells = _counted(there, evidence.loads, numbers)
    stacks = paper.stacks(specs)
    asked = {spec.name: spec.runs for spec in specs}
    chosen = older(evidence.loads)
    claims = tuple(
        _finding(paper, claim, cells, evidence, stacks, asked, ran, chosen)
        for claim in paper.claims
    )
    counted = Counter(claim.verdict for claim in claims if not claim.restates)
    return Findings(
        paper=paper.key,
        title=paper.paper.title,
        authors=paper.paper.authors,
        venue=paper.paper.venue,
        rules=VERSION,
        frozen=Frozen.since(paper.rules, ran.then),
        verdicts={verdict: counted[verdict] for verdict in VERDICTS},
        restated=sum(bool(claim.restates) for claim in claims),
        cells_run=len(cells.filter(pl.col("blocks") > 0)),
        cells_total=len(cells),
        left_out=_places(cells.filter(pl.col("blocks") == 0)),
        made=ran.made,
        sources=paper.sources,
        choices=tuple(paper.paper.choices),
        chosen=chosen,
        surrogates=paper.stands_for,
        client=ran.client,
        clock=ran.clock,
        began=ran.began,
        predicted=predicted() if ran.client == "loader" else "",
        cast=paper.cast,
        claims=claims,
    )


def _counted(cells: pl.DataFrame, loads: pl.DataFrame, numbers: Mapping[Key, int]) -> pl.DataFrame:
    """Return the space with `blocks` and `number` of every cell, see `Place`."""
    blocks = loads.group_by(CELL).agg(blocks=pl.col("block").n_unique())
    names = ("study", *CELL)
    rows = [dict(zip(names, key, strict=True)) | {"number": n} for key, n in numbers.items()]
    kinds = dict.fromkeys(names, pl.String) | {"number": pl.Int64}
    return (
        cells.join(blocks, on=CELL, how="left", maintain_order="left")
        .join(pl.DataFrame(rows, schema=kinds), on=names, how="left")
        .with_columns(pl.col("blocks", "number").fill_null(0))
    )


def _finding(
    paper: Published,
    claim: Claim,
    cells: pl.DataFrame,
    evidence: Evidence,
    stacks: Mapping[str, Stack],
    asked: Mapping[str, int],
    ran: Ran,
    chosen: Sequence[str],
) -> Finding:
    answer = claim.answer(evidence, frames=ran.clock.virtual and not ran.clock.prices_ns)
    named = stacks_of(claim.predicate, stacks) if claim.predicate else []
    reached = reach(claim.predicate, cells)
    if ran.client == "loader" and (why := beyond(paper.paper, claim.predicate, reached)):
        answer = _undecided(answer, "open", why, ours="")
    elif ran.client == "loader" and claim.predicate:
        answer = without_shares(claim.predicate, answer)
    elif ran.clock.virtual and len(reached) and {*reached["study"]} <= {*paper.paper.real_time}:
        answer = _undecided(answer, "not testable", NO_COMPUTING, ours="")
    elif ran.clock.virtual and (why := noiseless(claim.predicate, reached)):
        answer = _undecided(answer, "open", why, ours=answer.ours)
    off = too_near(claim.predicate, evidence, ran.clock) if ran.clock.virtual else ""
    if off and answer.verdict in DECIDED:
        answer = _undecided(answer, "open", off, ours=answer.ours)
    if answer.verdict == "open" and (why := absent(claim, reached)):
        answer = _undecided(answer, "not testable", why, ours=answer.ours)
    undecided = answer.verdict == "open"
    read = {source.id: source.read for source in paper.sources}
    behind = reached.filter(pl.col("blocks") > 0)
    said = tuple(caveats(claim.predicate, evidence, stacks)) if claim.predicate else ()
    if answer.worst:
        said = (*said, f"with those as slow as the slowest that ended: {answer.worst}")
    return Finding(
        **{
            name: getattr(claim, name)
            for name in (
                "id",
                "source",
                "section",
                "tier",
                "says",
                "published",
                "tolerance",
                "note",
            )
        },
        read=read.get(claim.source, ""),
        verdict=answer.verdict,
        direction=answer.direction,
        size=answer.size,
        population=about(claim.predicate) if claim.predicate else "",
        ours=answer.ours,
        why=answer.why,
        more=more(_asked(claim.predicate, answer), evidence)
        if undecided and claim.predicate
        else None,
        surrogates=paper.surrogates(claim.predicate) if claim.predicate else {},
        players=paper.players(claim.predicate) if claim.predicate else {},
        servers=servers([stacks[name] for name in named]),
        near=_near(paper, named, reached, behind, asked, ran, evidence, chosen),
        restates=claim.restates,
        caveats=said,
        cells=len(reached),
        behind=_places(behind),
    )


def _asked(predicate: AnyPredicate, answer: Answer) -> AnyPredicate:
    """Return the part of the claim that is open: only its direction if no size can be tested."""
    return direction(predicate) or predicate if answer.size == "not testable" else predicate


def _undecided(answer: Answer, verdict: Verdict, why: str, *, ours: str) -> Answer:
    """Return the answer with this verdict, for a claim that the loads cannot decide. A derived
    answer stays."""
    if answer.verdict == "derived":
        return structs.replace(answer, ours=ours)
    return Answer(
        verdict=verdict,
        ours=ours,
        why=why,
        direction=answer.direction and verdict,
        size=answer.size and verdict,
    )


def _near(
    paper: Published,
    named: Sequence[str],
    reached: pl.DataFrame,
    behind: pl.DataFrame,
    asked: Mapping[str, int],
    ran: Ran,
    evidence: Evidence,
    chosen: Sequence[str],
) -> Closeness:
    told = behind if len(behind) else reached
    kind: Stacks = "surrogate" if {*named} & {*paper.stands_for} else "native"
    standins = set(told.filter(pl.col("standin"))["page"])
    own = {name: what for made in ran.made for name, what in made.changed.items()}
    return Closeness(
        stacks=kind if named else "none",
        pages=pages_of(told["page"].unique(), standins, chosen),
        loads=_compared(named, behind, evidence),
        asked=max((asked[study] for study in told["study"].unique()), default=0),
        run=len(behind),
        cells=len(reached),
        client=ran.client,
        changed=tuple(f"{name} {own[name]}" for name in named if name in own),
    )


def _compared(named: Sequence[str], behind: pl.DataFrame, evidence: Evidence) -> int:
    """Return the fewest loads that ended of any of these stacks on any cell that was run, among
    cells where each of them ended any."""
    keys = set(behind.select("study", *CELL).iter_rows())
    least: list[int] = []
    for cell in (cell for cell in evidence.cells if cell.key in keys):
        ended = [int((~cell.stacks[s].censored).sum()) for s in named if s in cell.stacks]
        if ended and all(ended):
            least.append(min(ended))
    blocks = min(behind["blocks"].to_list(), default=0)
    return min(least, default=blocks)


def _places(cells: pl.DataFrame) -> tuple[Place, ...]:
    rows = cells.select("study", *CELL, "blocks", "number").iter_rows(named=True)
    return tuple(Place(**row) for row in rows)
