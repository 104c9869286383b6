"""Mahimahi folders, saved pages, the corpus, and how a visit is scored against its recording."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragstrip.model.errors import InputError
from dragstrip.model.page import Page, Resource
from dragstrip.pages import corpus
from dragstrip.pages.fidelity import fidelity
from dragstrip.pages.format.archive import write_page
from dragstrip.pages.format.coding import decode
from dragstrip.pages.format.recording import PageError
from dragstrip.pages.generators.standin import standin
from dragstrip.pages.importers.kinds import read_recording
from dragstrip.pages.made.text import CODE, HTML, fill
from dragstrip.pages.resolve import expand, resolve
from made import request
from recordings import SAVED, mahimahi


def test_a_mahimahi_folder_starts_at_its_document_and_is_dechunked(tmp_path):
    folder = tmp_path / "site"
    folder.mkdir()
    chunked = {"Transfer-Encoding": "chunked"}
    (folder / "save.a").write_bytes(mahimahi("/1.png", "image/png", b"png"))
    (folder / "save.b").write_bytes(
        mahimahi("/", "text/html", b"5\r\n<p>hi\r\n0\r\n\r\n", **chunked)
    )
    recording = read_recording(folder)
    assert [(a.url, a.wire) for a in recording.answers] == [
        ("https://a.test/", b"<p>hi"),
        ("https://a.test/1.png", b"png"),
    ]
    assert resolve(str(folder), tmp_path / "cache").name == "site"


@given(junk=st.binary(max_size=200))
def test_a_mahimahi_file_is_read_or_refused_by_name(tmp_path_factory, junk):
    folder = tmp_path_factory.mktemp("mahimahi")
    (folder / "save.x").write_bytes(mahimahi("/", "text/html", b"<p>")[: len(junk)] + junk)
    with pytest.raises(InputError, match=r"save\.x|holds no document|left out"):
        read_recording(folder)


def test_an_empty_folder_is_refused(tmp_path):
    with pytest.raises(PageError, match="is empty"):
        read_recording(tmp_path)


def test_a_saved_page_is_served_from_where_it_was_saved(tmp_path):
    (tmp_path / "site.html").write_bytes(SAVED)
    (tmp_path / "site_files").mkdir()
    (tmp_path / "site_files" / "x y.js.download").write_bytes(b"1")
    recording = read_recording(tmp_path / "site.html")
    assert [(a.url, a.mime) for a in recording.answers] == [
        ("https://a.test/dir/", "text/html"),
        ("https://a.test/dir/site_files/x%20y.js.download", "text/javascript"),
    ]
    before = resolve(str(tmp_path / "site.html"), tmp_path / "cache").digest
    (tmp_path / "site_files" / "x y.js.download").write_bytes(b"2")
    assert resolve(str(tmp_path / "site.html"), tmp_path / "cache").digest != before


def test_a_saved_page_without_an_address_gets_one(tmp_path):
    (tmp_path / "p.html").write_bytes(b"<p>")
    assert read_recording(tmp_path / "p.html").url == "https://saved.test/"
    (tmp_path / "p.html").write_bytes(b"nothing")
    with pytest.raises(PageError, match="no HTML"):
        read_recording(tmp_path / "p.html")


def test_the_corpus_has_what_the_papers_ask_for():
    kinds = [(p.name.partition("/")[0], p.kind) for p in corpus.known().values()]
    assert kinds.count(("biswal2016", "synthetic")) == 20
    assert kinds.count(("biswal2016", "stand-in")) == 30
    assert kinds.count(("megyesi2016", "synthetic")) == 4
    assert kinds.count(("wolsing2019", "stand-in")) == 38
    alone = {n for n, p in corpus.known().items() if n.startswith("wolsing") and p.hosts == 1}
    assert {corpus.known()[name].like for name in alone} == {"gnu.org", "wikipedia.org"}
    dense = [p for n, p in corpus.known().items() if n.startswith("biswal2016/dense")]
    assert all(80 <= p.objects <= 100 for p in dense)
    assert sum(p.size for p in dense) / len(dense) == pytest.approx(2.5e6, rel=0.01)
    assert [corpus.known()[f"cook2017/complex-{n}"].hosts for n in (1, 2, 4, 8)] == [1, 2, 4, 8]


@pytest.mark.parametrize(
    "name", ["cook2017/complex-8", "wolsing2019/standin-09", "ranjan2019/small-small"]
)
def test_a_stand_in_has_its_objects_bytes_and_hosts_and_says_that_it_is_one(tmp_path, name):
    known = corpus.known()[name]
    page = resolve(name, tmp_path)
    assert len(page.resources) == known.objects
    assert len(page.hosts) == known.hosts
    assert page.body_bytes == known.size
    assert page.source.startswith(corpus.STAND_IN)


def test_every_stand_in_can_be_laid_out():
    for page in corpus.known().values():
        if page.kind == "stand-in":
            made = standin(
                "x",
                objects=page.objects,
                size=page.size,
                hosts=page.hosts,
                source="",
                lead=page.lead,
            )
            assert sum(o.size for o in made.objects) == page.size
            assert len({o.url.split("/")[2] for o in made.objects}) == page.hosts


def test_a_set_stands_for_its_pages():
    assert len(expand("wolsing2019")) == 38
    assert expand("cook2017/complex-?") == [f"cook2017/complex-{n}" for n in (1, 2, 4, 8)]
    assert expand("demo") == ["demo"]


@given(
    pieces=st.lists(st.text("abc <>", max_size=300), min_size=1, max_size=4),
    size=st.integers(0, 70_000),
    comment=st.sampled_from([HTML, CODE]),
)
def test_text_is_filled_to_the_byte_where_it_fits(pieces, size, comment):
    wire, coding = fill(pieces, size, comment, "seed")
    least = len(fill(pieces, 0, comment, "seed")[0])
    plain = len("".join(pieces).encode())
    if size >= min(least, plain):
        assert len(wire) == size
    text = decode(wire, coding).decode()
    place = 0
    for piece in pieces:
        place = text.index(piece, place) + len(piece)


def page_of(*urls: str) -> Page:
    return Page(
        name="x",
        path="x",
        url=urls[0],
        source="",
        digest="",
        resources=tuple(
            Resource(url=u, method="GET", status=200, mime="", body_bytes=100) for u in urls
        ),
    )


def test_a_visit_is_scored_by_what_it_asked_for_and_in_which_order():
    urls = [f"https://{h}.test/" for h in "abcd"]
    straight = fidelity(page_of(*urls), [request(u, "h2", i) for i, u in enumerate(urls)])
    assert (straight.asked_share, straight.bytes_share, straight.order_tau) == (1, 1, 1)
    back = fidelity(page_of(*urls), [request(u, "h2", -i) for i, u in enumerate(urls)])
    assert back.order_tau == -1
    part = fidelity(page_of(*urls), [request(u, "h2", 1) for u in (*urls[:3], "https://new.test/")])
    assert (part.asked, part.hosts_asked, part.hosts) == (3, 3, 4)
    assert part.missed == ("https://d.test/",)
    assert part.invented == ("https://new.test/",)
    assert part.bytes_share == 0.75


def test_a_repeat_counts_only_as_often_as_it_was_recorded():
    page = page_of("https://a.test/", "https://a.test/")
    assert fidelity(page, [request("https://a.test/", "h2", 0)]).asked == 1
    assert fidelity(page, [request("https://a.test/", "h2", i) for i in range(3)]).asked == 2


def test_the_corpus_is_written_and_read_back(tmp_path):
    page = write_page(
        tmp_path / "p.har.zip", corpus.recording(corpus.known()["megyesi2016/few-small"])
    )
    sizes = [r.body_bytes for r in page.resources[1:]]
    assert len(sizes) == 5
    assert all(400 <= s <= 8_000 for s in sizes)
