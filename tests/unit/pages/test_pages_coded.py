"""A page in another coding says the same, in other bytes on the wire."""

import zipfile

import brotli
import pytest

from dragstrip.model.graph import Graph, Node, Wait
from dragstrip.model.page import Page
from dragstrip.pages.coded import coded
from dragstrip.pages.format import har
from dragstrip.pages.format.archive import HAR_MEMBER, load_page, write_page
from dragstrip.pages.format.coding import decode
from dragstrip.pages.format.recording import PageError, Recorded, Recording, header
from dragstrip.pages.graph.offsets import decoded_bytes
from dragstrip.pages.graph.scene import Scene
from dragstrip.pages.graph.store import graph_of, with_graph

URL = "https://a.test/"
HTML = b"<!doctype html><link rel=stylesheet href=/a.css>" + b"".join(
    b"<p>%d plain words. " % (n * n * 7919) for n in range(4000)
)
CSS = b"\n".join(b".c%d { margin: %dpx }" % (n, n * 7 % 13) for n in range(2000))
PNG = bytes(range(256)) * 40


def answer(path: str, mime: str, body: bytes, coding: str = "", **more) -> Recorded:
    headers = (("content-type", mime), ("etag", '"1"'))
    if coding:
        headers += (("content-encoding", coding),)
    wire = brotli.compress(body, quality=1) if coding else body
    return Recorded(url=f"https://a.test{path}", headers=headers, wire=wire, **more)


@pytest.fixture
def page(tmp_path):
    answers = [
        answer("/", "text/html; charset=utf-8", HTML, "br"),
        answer("/a.css", "text/css", CSS),
        answer("/a.png", "image/png", PNG),
        answer("/small.js", "text/javascript", b"x" * 255, "br"),
        answer("/part.js", "text/javascript", b"y" * 9000, "br", status=206),
        answer("/empty.txt", "text/plain", b""),
        answer("/gone.html", "text/html", b"gone " * 99, status=404),
    ]
    recording = Recording(name="p", url=URL, source="made up", answers=answers)
    return write_page(tmp_path / "p.har.zip", recording)


def codings(page: Page) -> dict[str, str]:
    """Codings by path. Checks that every body is in the coding of its header and decodes to the
    original."""
    found = {}
    with zipfile.ZipFile(page.path) as archive:
        for entry in har.decode(archive.read(HAR_MEMBER)).log.entries:
            response = entry.response
            coding = header(((h.name, h.value) for h in response.headers), "content-encoding")
            if wire := response.dragstrip.wire_file:
                assert response.content.file
                body = archive.read(response.content.file)
                assert decode(archive.read(wire), coding) == body
            found[entry.request.url.removeprefix("https://a.test")] = coding
    return found


@pytest.mark.parametrize("compress", ["gzip:1", "br:5", "zstd:3"])
def test_what_can_be_compressed_is_coded_and_all_bodies_stay_the_same(page, tmp_path, compress):
    name = compress.partition(":")[0]
    made = coded(page, compress, tmp_path)
    assert codings(made) == {
        "/": name,
        "/a.css": name,
        "/a.png": "",
        "/small.js": "",
        "/part.js": "br",
        "/empty.txt": "",
        "/gone.html": name,
    }
    assert [r.digest for r in made.resources] == [r.digest for r in page.resources]
    assert [r.decoded_bytes for r in made.resources] == [r.decoded_bytes for r in page.resources]
    assert load_page(made.path) == made
    assert (made.name, made.url) == (page.name, page.url)


def test_identity_takes_the_recorded_coding_away(page, tmp_path):
    found = codings(coded(page, "identity", tmp_path))
    assert {path for path, coding in found.items() if coding} == {"/part.js"}


def test_a_higher_level_is_smaller_and_the_same_one_has_the_same_bytes(page, tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir()
    other.mkdir()
    fast, best = (coded(page, f"gzip:{level}", one) for level in (1, 9))
    assert best.body_bytes < fast.body_bytes < page.body_bytes
    assert coded(page, "gzip:9", other).digest == best.digest
    assert coded(page, "gzip:9", one) is best


def test_without_a_coding_the_page_is_the_page(page, tmp_path):
    assert coded(page, "", tmp_path) is page


def test_where_it_cannot_be_written_is_named(page, tmp_path):
    with pytest.raises(PageError, match="nowhere"):
        coded(page, "gzip:6", tmp_path / "nowhere")


def test_a_learned_graph_waits_for_as_much_of_the_text(page, tmp_path):
    """The load generator follows bytes on the wire, and their number changed."""
    learned = Graph(
        learned=True,
        source="made up",
        nodes=(
            Node(url=URL, found="start"),
            Node(url=f"{URL}a.css", found="markup", initiator=0, waits=(Wait(0, 640),)),
            Node(url=f"{URL}a.png", found="style", initiator=1, waits=(Wait(1),)),
        ),
        body=(Wait(0, 640),),
    )
    before = with_graph(page, learned, page.path)
    after = coded(before, "gzip:9", tmp_path)
    graph = graph_of(after)
    assert graph.learned
    assert graph.nodes[2].waits == (Wait(1),)
    assert graph.body == graph.nodes[1].waits
    (wait,) = graph.nodes[1].waits
    assert wait.bytes
    assert wait.bytes != 640
    old, new = Scene(before).bodies[0], Scene(after).bodies[0]
    read = decoded_bytes(old.wire, old.coding, 640)
    assert decoded_bytes(new.wire, new.coding, wait.bytes) >= read
    assert decoded_bytes(new.wire, new.coding, wait.bytes - 256) < read
