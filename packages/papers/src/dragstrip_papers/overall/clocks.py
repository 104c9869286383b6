"""Compares the answers of the browser's two virtual clocks, claim by claim."""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from dragstrip_papers.answer import Verdict
from dragstrip_papers.answers.missing import DECIDED
from dragstrip_papers.claims import Claim, Published
from dragstrip_papers.overall.given import Given
from dragstrip_papers.overall.rows import Row, Source, best, today


class ByClock(Struct, frozen=True, kw_only=True):
    """A claim's answers by the browser in virtual time."""

    row: Row
    network: Source | None
    """Answer by the clock of the network alone, in which computing takes no time."""
    computing: Source | None
    """Answer by the clock in which computing takes time, the default of `--virtual`."""

    @property
    def decided(self) -> bool:
        """Whether the clock in which computing takes time decides the claim."""
        return self.computing is not None and self.computing.answer in DECIDED

    @property
    def both(self) -> bool:
        """Whether both clocks decide the claim."""
        return self.decided and self.network is not None and self.network.answer in DECIDED

    @property
    def alone(self) -> bool:
        """Whether only the browser in virtual time decides the claim."""
        return {way for way, source in self.row.sources.items() if source.answer in DECIDED} == {
            "virtual"
        }

    @property
    def agree(self) -> bool:
        """Whether both clocks decide the claim, and alike: its direction and its size."""
        return self.both and _verdicts(self.network) == _verdicts(self.computing)


def by_clock(
    papers: Iterable[Published], rows: Sequence[Row], given: Sequence[Given]
) -> list[ByClock]:
    """Return each claim that the browser in virtual time decides, by either clock."""
    of = {row.id: row for row in rows}
    found = [
        _sources(paper, claim, of[claim.id], given) for paper in papers for claim in paper.claims
    ]
    return [one for one in found if one.row.way == "virtual" or one.decided]


def _sources(paper: Published, claim: Claim, row: Row, given: Sequence[Given]) -> ByClock:
    network, computing = (_best(paper, claim, pages) for pages in _split(given))
    return ByClock(row=row, network=network, computing=computing)


def _split(given: Sequence[Given]) -> Iterator[list[Given]]:
    """Yield the runs by the clock of the network alone, then those in which computing takes
    time."""
    virtual = [page for page in given if page.way == "virtual"]
    yield [page for page in virtual if page.clock == "network"]
    yield [page for page in virtual if page.clock != "network"]


def _best(paper: Published, claim: Claim, given: Sequence[Given]) -> Source | None:
    source = best(today(paper, claim, given)).get("virtual")
    return source if source and source.ours else None


def _verdicts(source: Source | None) -> tuple[Verdict | None, ...]:
    return (source.answer, source.direction, source.size) if source else ()
