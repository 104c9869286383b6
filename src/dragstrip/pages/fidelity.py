"""How well a visit asks again for what was recorded: requests, bytes, hosts and order."""

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct
from scipy.stats import kendalltau

from dragstrip.model.page import Page, Resource
from dragstrip.model.visit import Served


class Score(Struct, frozen=True, kw_only=True):
    """A visit held against its page's recording."""

    recorded: int
    """Recorded requests that were made before the recorded visit's load event, or all of them if
    the recording knows of none."""
    asked: int
    """Of these, how many the visit made again, to the letter or with another query."""
    requests: int
    """All requests that reached the origin."""
    exact: int
    query: int
    """Answered by the nearest query."""
    preflight: int
    missed: tuple[str, ...]
    """What the recording could not answer."""
    never_asked: tuple[str, ...]
    recorded_bytes: int
    """Bodies as they cross the wire, of the recorded requests."""
    served_bytes: int
    recorded_hosts: int
    asked_hosts: int
    order: float | None
    """Kendall's tau-b between the recorded order of first requests and this visit's; None if
    fewer than two are common."""

    @property
    def asked_share(self) -> float:
        return self.asked / self.recorded if self.recorded else 1.0

    @property
    def answered_share(self) -> float:
        """Of the requests the page makes today, how many the recording answers."""
        return 1 - len(self.missed) / self.requests if self.requests else 1.0


def score(page: Page, log: Sequence[Served]) -> Score:
    """By the origin's `log` of one visit, so that workers and frames count as well."""
    due = [r for r in page.resources if page.load_ms is None or r.start_ms <= page.load_ms]
    served = sorted(log, key=lambda s: s.t_us)
    matches = Counter(s.match for s in served)
    lacking = _lacking(due, served)
    return Score(
        recorded=len(due),
        asked=len(due) - len(lacking),
        requests=len(served),
        exact=matches["exact"],
        query=matches["query"],
        preflight=matches["preflight"],
        missed=tuple(s.url for s in served if s.match == "miss"),
        never_asked=tuple(lacking),
        recorded_bytes=sum(r.body_bytes for r in due),
        served_bytes=sum(s.body_bytes for s in served),
        recorded_hosts=len({r.host for r in due}),
        asked_hosts=len({s.host for s in served if s.match != "miss"} & {r.host for r in due}),
        order=_order(due, served),
    )


def _lacking(due: Sequence[Resource], served: Sequence[Served]) -> list[str]:
    """Recorded requests nobody made, each counted as often as it was recorded.

    What has no exact counterpart may be one that was answered by its nearest query.
    """
    asked = Counter((s.method, s.url) for s in served)
    near = Counter((s.method, s.address) for s in served if s.match == "query")
    lacking = []
    for resource in due:
        key, loose = (resource.method, resource.url), (resource.method, resource.address)
        if asked[key]:
            asked[key] -= 1
        elif near[loose]:
            near[loose] -= 1
        else:
            lacking.append(resource.url)
    return lacking


def _order(due: Sequence[Resource], served: Sequence[Served]) -> float | None:
    recorded: dict[str, int] = {}
    for place, resource in enumerate(due):
        recorded.setdefault(resource.url, place)
    asked = list(dict.fromkeys(s.url for s in served if s.url in recorded))
    if len(asked) < 2:
        return None
    return float(kendalltau([recorded[url] for url in asked], range(len(asked))).statistic)
