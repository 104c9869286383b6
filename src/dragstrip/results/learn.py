"""Learns the graph of a page from the visits in a capsule."""

from collections.abc import Sequence

from dragstrip.model.browsers import find_browser
from dragstrip.model.graph import Graph
from dragstrip.model.page import Page
from dragstrip.model.visit import Visit
from dragstrip.pages.format.recording import PageError
from dragstrip.pages.graph.visits import from_visits
from dragstrip.results.capsule import Capsule

MOST = 30
"""Most visits that are used. More visits would teach nothing new."""


def learn(page: Page, capsule: Capsule) -> Graph:
    """Learn a graph from the capsule's valid first visits of this page in a browser. Visits of a
    page with another digest are left out. Raises `PageError`."""
    study = capsule.manifest.study
    there = next((p for p in study.pages if p.name == page.name), None)
    if there is None:
        known = ", ".join(p.name for p in study.pages)
        raise PageError(f"{capsule.path} has no visit of page {page.name}; it has {known}")
    if _content(there) != _content(page):
        raise PageError(
            f"{capsule.path} visited a different page named {page.name}: its recorded bodies "
            f"differ from those of {page.path}"
        )
    browsed = {s.name for s in study.stacks if not find_browser(s.browser).follows_graphs}
    visits = [
        v
        for v in capsule.visits()
        if v.page == page.name and v.stack in browsed and v.connection == "first" and v.valid
    ][:MOST]
    if not visits:
        raise PageError(f"{capsule.path} has no valid first visit of page {page.name} in a browser")
    return from_visits(page, visits, _source(visits))


def _content(page: Page) -> list[tuple[str, str, str]]:
    return [(r.method, r.url, r.digest) for r in page.resources]


def _source(visits: Sequence[Visit]) -> str:
    def each(names: Sequence[str]) -> str:
        return ", ".join(dict.fromkeys(names))

    clock = each([v.clock for v in visits])
    many = f"{len(visits)} visits" if len(visits) > 1 else "1 visit"
    return (
        f"{many} in {each([v.browser.partition(',')[0] for v in visits])} "
        f"({each([v.stack for v in visits])} over {each([v.network for v in visits])}; "
        f"clock {clock})"
    )
