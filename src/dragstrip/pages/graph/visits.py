"""Learns a graph from visits of a browser."""

from collections.abc import Mapping, Sequence

from msgspec import structs

from dragstrip.model.clock import NETWORK
from dragstrip.model.graph import LOAD, Graph, Node, Wait
from dragstrip.model.page import Page, address
from dragstrip.model.visit import BY_SCRIPTS, Visit
from dragstrip.pages.format.recording import PageError
from dragstrip.pages.graph.align import AlignedRequest, align
from dragstrip.pages.graph.credentials import by_rule, by_visits
from dragstrip.pages.graph.discovery import Discoveries, PlacedRequest
from dragstrip.pages.graph.late import EventTimes, finished_when, held_back
from dragstrip.pages.graph.scene import Scene

_STYLES = ("Stylesheet",)
_NEVER_HOLD = (*BY_SCRIPTS, "EventSource", "WebSocket", "Prefetch")


def from_visits(page: Page, visits: Sequence[Visit], source: str) -> Graph:
    """Return the graph that visits of a page have in common; only visits that loaded count. The
    recording's markup and style sheets give each request's waits. A wait is dropped if any visit
    contradicts it. A request that starts after all of its waits gets one more wait, or a delay.
    Raises `PageError` if there is nothing to learn from."""
    good = [v for v in visits if v.outcome == "loaded" and v.plt_ms is not None]
    rows = align(good)
    if not rows:
        raise PageError(f"page {page.name}: no visit that loaded it has a request to learn from")
    scene = Scene(page)
    follows = _redirects(rows)
    asked = _asked(rows, follows)
    ways = Discoveries(scene, asked)
    times = EventTimes(rows, good)
    root = max((i for i in range(len(rows)) if _leads(follows, i)), default=0)
    computed = any(v.clock != NETWORK.kind for v in good)  # then a delay may be computing
    finished = finished_when(times, ways.finished(root))
    painted = ways.painted(root)
    credentials = by_visits(by_rule(scene, asked), rows)
    nodes: list[Node] = []
    optional: set[int] = set()  # the page may load without: timers' requests, and what follows them
    for index, row in enumerate(rows):
        way = ways.way(index)
        waits, found = way.waits, way.found
        if index in follows:
            waits, found = (Wait(follows[index]),), "redirect"
        elif index and not waits:
            waits = (Wait(root),)
        waits = tuple(w for w in waits if w.node < index)
        late = held_back(times, index, waits, (finished, painted), found)
        timer = found == "script" and late.delay_ms > 0 and not computed
        if timer or any(w.node in optional for w in late.waits):
            optional.add(index)
        nodes.append(
            Node(
                url=row.one.url,
                method=row.one.method,
                kind=row.one.resource_type,
                priority=row.one.priority,
                found="load" if any(w.node == LOAD for w in late.waits) else found,
                initiator=follows.get(index, asked[index].initiator),
                waits=late.waits,
                delay_ms=late.delay_ms,
                timer=timer,
                holds_load=(row.one.resource_type not in _NEVER_HOLD or _held(scene, row.one.url))
                and times.may_hold_load(index, optional=index in optional),
                upload_bytes=_upload(scene, row.one.url),
                credentials=credentials[index],
            )
        )
    nodes = _after_preflights(nodes)
    return Graph(
        nodes=tuple(nodes),
        learned=True,
        source=source,
        parsed=finished,
        body=ways.body(root),
        load_delay_ms=times.load_delay_ms([i for i, n in enumerate(nodes) if n.holds_load]),
    )


def _upload(scene: Scene, url: str) -> int:
    body = scene.body(url)
    return body.upload_bytes if body else 0


def _held(scene: Scene, url: str) -> bool:
    body = scene.body(url)
    return body is not None and body.held


def _redirects(rows: Sequence[AlignedRequest]) -> dict[int, int]:
    """Return the index of the redirect that leads to each request, by the request's index. The
    target starts when the redirect ends."""
    redirects: dict[int, int] = {}
    for index, row in enumerate(rows):
        if not 300 <= row.one.status < 400 or row.one.status == 304:
            continue
        for later in range(index + 1, len(rows)):
            other = rows[later].one
            same = other.resource_type == row.one.resource_type
            if (
                same
                and later not in redirects
                and abs(other.start_ms - (row.one.end_ms or 0)) < 2.0
            ):
                redirects[later] = index
                break
    return redirects


def _leads(follows: Mapping[int, int], index: int) -> bool:
    while index in follows:
        index = follows[index]
    return index == 0


def _asked(rows: Sequence[AlignedRequest], follows: Mapping[int, int]) -> list[PlacedRequest]:
    exact: dict[str, int] = {}
    near: dict[str, int] = {}
    requests: list[PlacedRequest] = []
    for index, row in enumerate(rows):
        one, initiator = row.one, None
        if index and index not in follows:
            initiator = exact.get(one.initiator, near.get(address(one.initiator)))
            if initiator is None:
                initiator = next((i for i in range(index) if _leads(follows, i)), 0)
                while initiator in follows.values():
                    initiator = next(k for k, v in follows.items() if v == initiator)
        seen = [r.initiator_bytes for r in row.made if r and r.initiator_bytes is not None]
        requests.append(
            PlacedRequest(
                url=one.url,
                kind=one.resource_type,
                initiator=initiator,
                by_script=one.initiator_type == "script",
                bytes_seen=min(seen, default=None),
            )
        )
        exact[one.url], near[one.address] = index, index
    return requests


def _after_preflights(nodes: Sequence[Node]) -> list[Node]:
    """Return the nodes, with each CORS preflight before the request that needs it. The browser
    reports the request as the initiator of its preflight; here both have the request's
    initiator."""
    made = list(nodes)
    for index, node in enumerate(nodes):
        if node.method != "OPTIONS":
            continue
        asks = [i for i, n in enumerate(nodes) if n.url == node.url and n.method != "OPTIONS"]
        if asks and asks[0] < index:
            first = asks[0]
            made[first], made[index] = (
                structs.replace(
                    node,
                    initiator=nodes[first].initiator,
                    waits=nodes[first].waits,
                    delay_ms=nodes[first].delay_ms,
                    timer=nodes[first].timer,
                ),
                structs.replace(nodes[first], waits=(Wait(first),), delay_ms=0.0, timer=False),
            )
    return made
