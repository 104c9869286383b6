"""How faithful a replay was: every request the recording did not answer as it stands, by name."""

from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import Struct

from dragstrip.model.page import Page
from dragstrip.model.study import Study
from dragstrip.model.visit import Visit

_MATCHES = {
    "miss": "not in the recording: a marked 404",
    "query": "the recorded answer with the nearest query string",
    "preflight": "a CORS preflight, made up because none was recorded",
}
_NO_HOST = "net::ERR_NAME_NOT_RESOLVED"


class Gap(Struct, frozen=True, kw_only=True):
    """An address (see `dragstrip.model.visit.address`) and what became of the requests for it."""

    address: str
    answer: str
    requests: dict[str, int]
    """By stack, over all its visits."""


class Fidelity(Struct, frozen=True, kw_only=True):
    """A page's replay over all visits of a study that loaded it."""

    page: Page
    visits: dict[str, int]
    """By stack."""
    asked: int
    """Recorded URLs that at least one visit asked for."""
    recorded: int
    gaps: tuple[Gap, ...]
    """Most frequent first."""


def fidelity(study: Study, visits: Sequence[Visit]) -> tuple[Fidelity, ...]:
    """One entry for every page of the study that was visited."""
    loaded = [v for v in visits if v.outcome == "loaded"]
    by_page = ((p, [v for v in loaded if v.page == p.name]) for p in study.pages)
    return tuple(_page(page, made) for page, made in by_page if made)


def _page(page: Page, visits: list[Visit]) -> Fidelity:
    recorded = {r.url for r in page.resources}
    asked = {s.url for v in visits for s in v.served}
    counts: dict[tuple[str, str], Counter[str]] = {}
    for visit in visits:
        for gap in _gaps(visit):
            counts.setdefault(gap, Counter())[visit.stack] += 1
    return Fidelity(
        page=page,
        visits=dict(Counter(v.stack for v in visits)),
        asked=len(recorded & asked),
        recorded=len(recorded),
        gaps=tuple(
            Gap(address=address, answer=answer, requests=dict(by_stack))
            for (address, answer), by_stack in sorted(
                counts.items(), key=lambda item: (-item[1].total(), item[0])
            )
        ),
    )


def _gaps(visit: Visit) -> Iterator[tuple[str, str]]:
    for served in visit.served:
        if served.match in _MATCHES:
            yield served.address, _MATCHES[served.match]
    reached = {s.address for s in visit.served}
    for request in visit.requests:
        if request.protocol or request.address in reached:
            continue
        if request.error == _NO_HOST:
            yield request.address, "never sent: the recording has no such host"
        else:
            error = request.error or "under way when the visit ended"
            yield request.address, f"never answered: {error}"
