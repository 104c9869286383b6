"""The graph of a page: made from markup, learned from visits, stored in its file."""

import gzip
import zipfile
from pathlib import Path
from statistics import median

import brotli
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from dragstrip.model.graph import LOAD, Graph, Node, Wait
from dragstrip.model.visit import Request, Visit
from dragstrip.pages.format.archive import HAR_MEMBER, load_page, write_page
from dragstrip.pages.format.recording import PageError, Recorded, Recording
from dragstrip.pages.graph.markup import read_markup
from dragstrip.pages.graph.offsets import on_wire
from dragstrip.pages.graph.store import graph_of, with_graph
from dragstrip.pages.graph.structure import from_structure
from dragstrip.pages.graph.visits import from_visits

HTML = b"""<!doctype html><html><head>
<link rel="stylesheet" href="/a.css"><script src="/a.js"></script>
<script async src="/later.js"></script><script defer src="/last.js"></script>
<noscript><img src="/never.png"></noscript>
</head><body><img src="/a.png"><img loading="lazy" src="/lazy.png">
<script>load("/from-inline.json")</script><iframe src="/frame.html"></iframe></body></html>"""
CSS = b"@import '/more.css'; @font-face { src: url(/a.woff2) } p { background: url('/bg.png') }"
URL = "https://a.test/"


def recorded(path: str, mime: str, body: bytes = b"x", **more) -> Recorded:
    return Recorded(
        url=f"https://a.test{path}", headers=(("content-type", mime),), wire=body, **more
    )


@pytest.fixture
def page(tmp_path):
    answers = [
        recorded("/", "text/html", HTML),
        recorded("/a.css", "text/css", CSS),
        recorded("/a.js", "text/javascript"),
        recorded("/later.js", "text/javascript"),
        recorded("/last.js", "text/javascript"),
        recorded("/a.png", "image/png"),
        recorded("/lazy.png", "image/png"),
        recorded("/more.css", "text/css", b"p {}"),
        recorded("/a.woff2", "font/woff2"),
        recorded("/bg.png", "image/png"),
        recorded("/from-inline.json", "application/json"),
        recorded("/frame.html", "text/html", b"<p>"),
        recorded("/unknown.json", "application/json"),
        recorded("/by-script.png", "image/png", initiator="https://a.test/later.js"),
    ]
    recording = Recording(name="p", url=URL, source="made up", answers=answers)
    return write_page(tmp_path / "p.har.zip", recording)


def waits(graph: Graph) -> dict[str, tuple[str, frozenset[str]]]:
    """How each request is found, and which complete answers it waits for, by path."""
    paths = [n.url.removeprefix("https://a.test") for n in graph.nodes]
    return {
        p: (n.found, frozenset(paths[w.node] for w in n.waits if w.bytes is None))
        for p, n in zip(paths, graph.nodes, strict=True)
    }


def test_a_page_waits_as_a_browser_does(page):
    graph = from_structure(page)
    assert not graph.learned
    found = waits(graph)
    assert found["/"] == ("start", set())
    # The preload scanner looks past what blocks the parser.
    assert {found[p] for p in ("/a.css", "/a.js", "/later.js", "/a.png")} == {
        ("markup", frozenset())
    }
    before = {n.url: n.waits[0].bytes for n in graph.nodes[1:6]}
    assert before["https://a.test/a.css"] == HTML.index(b"<script src")
    assert before["https://a.test/a.png"] == HTML.index(b"<img loading")
    assert found["/more.css"] == ("style", {"/a.css"})
    # Fonts and pictures of a sheet wait for layout, and that for the parser to pass the script.
    assert found["/bg.png"] == found["/a.woff2"] == ("style", {"/a.css", "/a.js", "/more.css"})
    assert found["/lazy.png"] == ("markup", {"/a.css", "/a.js"})
    urgent = {
        n.url.removeprefix(URL) for n in graph.nodes if n.kind == "Script" and n.priority == "High"
    }
    assert urgent == {"a.js"}
    # An inline script waits for the sheets and scripts before it; so do frames behind it.
    # So does what a style sheet imports: the sheet is not there before.
    assert found["/from-inline.json"] == ("script", {"/a.css", "/a.js", "/more.css"})
    assert found["/frame.html"] == ("markup", {"/a.css", "/a.js", "/more.css"})
    assert found["/by-script.png"] == ("script", {"/later.js"})
    # No markup refers to it, so it waits for the document and its deferred scripts.
    assert found["/unknown.json"] == ("script", {"/", "/a.css", "/a.js", "/last.js", "/more.css"})
    assert {n.url for n in graph.nodes if not n.holds_load} == {
        "https://a.test/from-inline.json",
        "https://a.test/unknown.json",
    }


@given(st.binary(max_size=600) | st.text("<>/ =\"'abcsriptlnkmg!-", max_size=300).map(str.encode))
def test_any_bytes_are_markup(body):
    markup = read_markup(body, URL)
    assert 0 <= markup.body <= markup.length == len(body)
    assert all(0 < r.at <= len(body) for r in markup.references)
    assert list(markup.references) == sorted(markup.references, key=lambda r: r.at)
    for at in (0, len(body) // 2, len(body)):
        assert all(r.at < at for r in markup.blocking(at))


@given(
    st.lists(st.sampled_from([b"a" * 50, b"<img src=x.png>", bytes(range(256))]), max_size=40),
    st.lists(st.integers(0, 12_000), min_size=1, max_size=5),
    st.sampled_from(["", "gzip", "br"]),
)
def test_so_much_of_the_wire_holds_so_much_of_the_body(parts, offsets, coding):
    body = b"".join(parts)
    wire = {"": bytes, "gzip": gzip.compress, "br": brotli.compress}[coding](body)
    needed = on_wire(wire, coding, offsets)
    for offset, count in zip(offsets, needed, strict=True):
        assert 0 <= count <= len(wire)
        part = wire[:count]
        if coding == "br":
            part = brotli.Decompressor().process(part)
        elif coding == "gzip":
            import zlib

            part = zlib.decompressobj(31).decompress(part)
        assert len(part) >= min(offset, len(body))


def test_a_body_in_a_coding_that_is_broken_is_needed_whole():
    assert on_wire(b"not gzip at all", "gzip", [3]) == [15]


def load(graph: Graph, took: list[float], name: str) -> Visit:
    """A visit that follows the graph with these times per answer. A part of a body takes its share
    of the time."""
    start: list[float] = []
    for node in graph.nodes:
        held = [start[w.node] + took[w.node] for w in node.waits if w.node != LOAD]
        start.append(max(held, default=0.0) + node.delay_ms)
    end = [s + t for s, t in zip(start, took, strict=True)]
    loaded = end[0]
    for s, e, n in sorted(zip(start, end, graph.nodes, strict=True), key=lambda one: one[0]):
        if n.holds_load and s - (0.0 if n.timer else n.delay_ms) <= loaded:
            loaded = max(loaded, e)
    requests = [
        Request(
            url=n.url,
            host="a.test",
            protocol="h2",
            status=200,
            resource_type=n.kind,
            initiator=graph.nodes[n.initiator].url if n.initiator is not None else "",
            initiator_type="script",
            start_ms=s,
            response_start_ms=s + 1,
            end_ms=e,
        )
        for n, s, e in zip(graph.nodes, start, end, strict=True)
    ]
    return Visit(
        block=name,
        attempt=0,
        position=0,
        page="p",
        network="LTE",
        stack="h2",
        seed=0,
        started_us=0,
        outcome="loaded",
        plt_ms=loaded + graph.load_delay_ms,
        dcl_ms=end[0],
        requests=tuple(sorted(requests, key=lambda r: r.start_ms)),
    )


@st.composite
def graphs(draw):
    """Graphs of scripts that cause each other, some after two scripts, some after a timer."""
    nodes = [Node(url=URL, kind="Document", found="start")]
    for index in range(1, draw(st.integers(2, 7))):
        cause = draw(st.integers(0, index - 1))
        other = draw(st.none() | st.integers(0, index - 1))
        nodes.append(
            Node(
                url=f"{URL}{index}.js",
                kind="Script",
                found="script",
                initiator=cause,
                waits=tuple(Wait(n) for n in sorted({cause, *([] if other is None else [other])})),
                delay_ms=draw(st.sampled_from([0.0, 0.0, 0.0, 250.0])),
            )
        )
    return Graph(nodes=tuple(nodes), learned=False, source="drawn")


TIMES = st.lists(st.integers(2, 90).map(lambda n: 10.0 * n), min_size=7, max_size=7)
"""Times in whole steps: causes that are a few milliseconds apart in all visits cannot be told
apart."""


@settings(max_examples=60, deadline=None)
@given(graphs(), st.lists(TIMES, min_size=6, max_size=6))
def test_what_is_learned_predicts_the_visits_it_was_learned_from(graph, taken):
    many = len(graph.nodes)
    visits = [load(graph, t[:many], str(n)) for n, t in enumerate(taken)]
    learned = from_visits(SCRIPTS, visits, "drawn visits")
    assert learned.learned
    assert {n.url for n in learned.nodes} == {n.url for n in graph.nodes}
    order = [next(i for i, n in enumerate(graph.nodes) if n.url == m.url) for m in learned.nodes]
    for times, visit in zip(taken, visits, strict=True):
        again = load(learned, [times[i] for i in order], "again")
        starts = {r.url: r.start_ms for r in again.requests}
        off = [abs(r.start_ms - starts[r.url]) for r in visit.requests]
        assert max(off) <= 3
    for index, node in enumerate(learned.nodes):
        assert all(w.node == LOAD or w.node < index for w in node.waits)


SCRIPTS = None


@pytest.fixture(autouse=True, scope="module")
def scripts(tmp_path_factory):
    """A page whose recording does not show what its scripts do."""
    global SCRIPTS
    answers = [recorded("/", "text/html", b"<p>")]
    answers += [recorded(f"/{n}.js", "text/javascript") for n in range(1, 7)]
    recording = Recording(name="p", url=URL, source="made up", answers=answers)
    SCRIPTS = write_page(tmp_path_factory.mktemp("pages") / "p.har.zip", recording)


def test_a_request_that_waits_for_a_second_script_is_found_out():
    nodes = (
        Node(url=URL, kind="Document", found="start"),
        Node(url=f"{URL}1.js", kind="Script", found="script", initiator=0, waits=(Wait(0),)),
        Node(url=f"{URL}2.js", kind="Script", found="script", initiator=0, waits=(Wait(0),)),
        Node(
            url=f"{URL}3.js",
            kind="Script",
            found="script",
            initiator=1,
            waits=(Wait(1), Wait(2)),
            delay_ms=100.0,
        ),
    )
    graph = Graph(nodes=nodes, learned=False, source="")
    taken = [[50, 100, 300, 10], [60, 120, 900, 10], [55, 110, 500, 10]]
    learned = from_visits(SCRIPTS, [load(graph, t, str(t)) for t in taken], "three visits")
    last = learned.nodes[3]
    assert {w.node for w in last.waits} == {1, 2}
    assert last.delay_ms == pytest.approx(100)


def script(number: int, *waits: int, **more) -> Node:
    return Node(
        url=f"{URL}{number}.js",
        kind="Script",
        found="script",
        initiator=waits[0],
        waits=tuple(Wait(n) for n in waits),
        **more,
    )


@pytest.mark.parametrize("clock", ["network", "real"])
def test_the_page_may_load_before_a_timer_fires_and_what_follows_it(clock):
    nodes = (
        Node(url=URL, kind="Document", found="start"),
        script(1, 0),
        script(2, 0, delay_ms=200.0, timer=True),
        script(3, 2),
    )
    graph = Graph(nodes=nodes, learned=False, source="")
    fast, slow = [50, 100, 30, 20], [90, 310, 300, 200]
    visits = [load(graph, took, str(took)) for took in (slow, [60, 280, 20, 15], fast)]
    assert [v.plt_ms for v in visits] == [790, 340, 150]
    taken = [structs.replace(v, clock=clock) for v in visits]
    timer, child = from_visits(SCRIPTS, taken, "three visits").nodes[2:]
    assert timer.delay_ms == pytest.approx(200)
    known = clock == "network"  # elsewhere it may be computing
    assert (timer.timer, child.timer) == (known, False)
    assert (timer.holds_load, child.holds_load) == (known, known)


@pytest.mark.parametrize("asked_ms", [1.0, -0.3])
def test_what_the_load_event_asks_for_waits_for_it(asked_ms):
    nodes = (
        Node(url=URL, kind="Document", found="start"),
        Node(url=f"{URL}1.js", kind="Script", found="script", initiator=0, waits=(Wait(0),)),
    )
    graph = Graph(nodes=nodes, learned=False, source="", load_delay_ms=2.0)
    visits = []
    for took in ([40, 200], [90, 700], [70, 30]):
        made = load(graph, took, str(took))
        beacon = Request(
            url=f"{URL}2.js",
            host="a.test",
            protocol="h2",
            initiator=f"{URL}1.js",
            initiator_type="script",
            resource_type="Ping",
            start_ms=made.plt_ms + asked_ms,
            end_ms=made.plt_ms + 30,
        )
        visits.append(structs.replace(made, requests=(*made.requests, beacon)))
    learned = from_visits(SCRIPTS, visits, "three visits")
    assert learned.nodes[2].found == "load"
    assert Wait(LOAD) in learned.nodes[2].waits
    assert not learned.nodes[2].holds_load
    assert learned.load_delay_ms == pytest.approx(median([2.0]))


def test_a_preflight_is_asked_for_by_what_asked_for_its_request():
    nodes = (
        Node(url=URL, kind="Document", found="start"),
        Node(url=f"{URL}1.js", kind="Script", found="script", initiator=0, waits=(Wait(0),)),
    )
    visits = []
    for took in ([40, 200], [90, 700], [70, 30]):
        made = load(Graph(nodes=nodes, learned=False, source=""), took, str(took))
        asked = Request(
            url=f"{URL}2.js",
            host="a.test",
            method="POST",
            protocol="h2",
            initiator=f"{URL}1.js",
            initiator_type="script",
            resource_type="XHR",
            start_ms=sum(took),
            end_ms=sum(took) + 40,
        )
        preflight = structs.replace(
            asked,
            method="OPTIONS",
            initiator=asked.url,
            initiator_type="preflight",
            resource_type="Preflight",
            start_ms=asked.start_ms + 0.1,
            end_ms=asked.start_ms + 20,
        )
        visits.append(structs.replace(made, requests=(*made.requests, asked, preflight)))
    learned = from_visits(SCRIPTS, visits, "three visits").nodes
    assert [(n.method, n.initiator) for n in learned[2:]] == [("OPTIONS", 1), ("POST", 1)]
    assert learned[3].waits == (Wait(2),)


@pytest.mark.parametrize("more", [{"initiator": 1}, {"initiator": 2}, {"waits": (Wait(1),)}])
def test_no_request_follows_from_itself_or_a_later_one(page, tmp_path, more):
    first = Node(url=URL, found="start")
    later = Node(url=f"{URL}1.js", found="script", initiator=0)
    graph = Graph(nodes=(first, later, later), learned=False, source="")
    kept = with_graph(page, graph, tmp_path / "kept.har.zip")
    changed = structs.replace(later, **more)
    with pytest.raises(ValueError, match=r"node 1 of the graph, https://a\.test/1\.js, follows"):
        structs.replace(graph, nodes=(first, changed, later))

    def damage(data: bytes) -> bytes:
        whole = msgspec.json.decode(data)
        node = whole["log"]["_dragstrip"]["graph"]["nodes"][1]
        node |= msgspec.to_builtins(changed)
        return msgspec.json.encode(whole)

    damaged = tmp_path / "damaged.har.zip"
    with zipfile.ZipFile(kept.path) as old, zipfile.ZipFile(damaged, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            new.writestr(name, damage(data) if name == HAR_MEMBER else data)
    with pytest.raises(PageError, match=r"damaged\.har\.zip.*node 1 of the graph"):
        load_page(damaged)


def test_a_graph_is_kept_in_the_page_file(page, tmp_path):
    structure = graph_of(page)
    assert not structure.learned
    mine = structs.replace(structure, learned=True, source="three visits", load_delay_ms=1.5)
    kept = with_graph(page, mine, tmp_path / "with.har.zip")
    assert graph_of(kept) == mine
    assert kept.resources == page.resources
    assert kept.digest != page.digest
    assert graph_of(load_page(Path(page.path))) == structure
    again = with_graph(kept, mine, kept.path)
    assert again.digest == kept.digest
    # The digest is of what is followed, not of where it came from.
    assert structs.replace(mine, source="elsewhere").digest == mine.digest != structure.digest
