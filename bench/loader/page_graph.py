"""How well learned graphs explain a browser's loads: a part of docs/reference/loader.md.

    uv run python bench/loader/page_graph.py LESSONS VISITS

Graphs are learned from the capsule LESSONS and compared with the visits of the capsule VISITS in a
browser, both in virtual time. When does a request start, and when does the load event end, given
when the answers it waits for were there? So this is the graph's own error, without that of the load
generator's protocols. Requests that wait for a part of an answer are left out, because no browser
says when that part came.
"""

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from dragstrip.model.errors import InputError
from dragstrip.model.graph import LOAD, Graph, Node, Wait
from dragstrip.model.page import address
from dragstrip.model.visit import Request, Visit
from dragstrip.results.capsule import Capsule
from dragstrip.results.learn import learn

NEAR_MS = 10.0

Key = tuple[str, str]


HEAD = "| page | visits | requests | of those answered | start within 10 ms | load event |"


def main() -> None:
    lessons, tried = (Capsule.open(Path(name)) for name in sys.argv[1:])
    print(*rows(lessons, tried), sep="\n")


def rows(lessons: Capsule, tried: Capsule) -> Iterator[str]:
    """A table, one line per page."""
    yield HEAD
    yield "|---|---|---|---|---|---|"
    visits = [v for v in tried.visits() if v.valid and v.plt_ms is not None]
    for page in tried.manifest.study.pages:
        mine = [v for v in visits if v.page == page.name]
        try:
            graph = learn(page, lessons)
        except InputError as error:
            print(f"left out: {error}", file=sys.stderr)
            continue
        if mine:
            yield line(page.name, graph, mine)


def line(page: str, graph: Graph, visits: list[Visit]) -> str:
    off = [abs(ms) for v in visits for ms in starts_off(graph, v)]
    loads = [abs(load_off(graph, v)) for v in visits]
    answered = [r for v in visits for r in v.requests if r.protocol and not r.from_cache]
    known = {address(n.url) for n in graph.nodes}
    share = sum(r.address in known for r in answered) / len(answered)
    near = sum(ms <= NEAR_MS for ms in off) / len(off) if off else 1.0
    told = (
        str(len(visits)),
        str(len(graph.nodes)),
        f"{share * 100:.1f} %",
        f"{near * 100:.1f} % of {len(off)}",
        f"{median(loads):.1f} ms off in the median, {max(loads):.1f} ms at most",
    )
    return f"| {page} | {' | '.join(told)} |"


def by_key(visit: Visit) -> dict[Key, Request]:
    """Requests by URL, and by URL without the query, which is often random."""
    found: dict[Key, Request] = {}
    for request in visit.requests:
        found.setdefault((request.method, request.url), request)
    for request in visit.requests:
        found.setdefault((request.method, request.address), request)
    return found


def of(made: dict[Key, Request], node: Node) -> Request | None:
    return made.get((node.method, node.url)) or made.get((node.method, address(node.url)))


def starts_off(graph: Graph, visit: Visit) -> Iterator[float]:
    made = by_key(visit)
    alike = Counter(r.address for r in visit.requests)
    for node in graph.nodes[1:]:
        request = of(made, node)
        if request is None or any(w.bytes is not None for w in node.waits):
            continue
        if request.url != node.url and alike[request.address] > 1:
            continue  # which of them it is, is not known
        held = [at for w in node.waits if (at := _held(graph, made, visit, w)) is not None]
        if held:
            yield request.start_ms - max(held) - node.delay_ms


def _held(graph: Graph, made: dict[Key, Request], visit: Visit, wait: Wait) -> float | None:
    if wait.node == LOAD:
        return visit.plt_ms
    node = graph.nodes[wait.node]
    found = of(made, node)
    return found.end_ms if found else None


def load_off(graph: Graph, visit: Visit) -> float:
    made, load = by_key(visit), visit.plt_ms or 0.0
    holders = [of(made, n) for n in graph.nodes if n.holds_load]
    ends = [r.end_ms for r in holders if r and r.end_ms is not None and r.start_ms <= load]
    return max(ends, default=0.0) + graph.load_delay_ms - load


if __name__ == "__main__":
    main()
