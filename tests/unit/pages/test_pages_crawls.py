"""Crawls: where a visit may start, what belongs to it, and archives of several files."""

import gzip

import pytest

from dragstrip.pages.format.recording import PageError
from dragstrip.pages.importers.kinds import read_recording
from dragstrip.pages.importers.wish import Wish
from made_archives import DATE, arc, flow, mhtml, netstring, record, visit, wacz, zst

HOME, NEWS = "https://a.test/", "https://a.test/news"
CSS, PNG, FRAME = "https://a.test/s.css", "https://b.test/p.png", "https://b.test/ad"
LATER = "2018-02-06T05:06:23Z"


def crawl(*records: list[bytes]) -> bytes:
    return b"".join(r for made in records for r in made)


def read(folder, data: bytes, part: str = "", name: str = "c.warc"):
    (folder / name).write_bytes(data)
    return read_recording(folder / name, Wish(part=part))


def urls(recording) -> list[str]:
    return [a.url for a in recording.answers]


LINKED = crawl(
    visit(0, HOME, body=f"<title>Home</title><link rel=stylesheet href=/s.css><a href={NEWS}>"),
    visit(2, CSS, referer=HOME, mime="text/css"),
    visit(4, NEWS, referer=HOME, body="<link rel=stylesheet href=/s.css><iframe src=//b.test/ad>"),
    visit(6, FRAME, referer=NEWS),
    visit(8, PNG, referer=NEWS, mime="image/png"),
)


def test_a_crawl_is_its_first_page_and_names_the_others(tmp_path):
    page = read(tmp_path, LINKED)
    assert urls(page) == [HOME, CSS]
    assert page.changes[0] == (
        "this is #1 of 2 documents in the recording that a visit may start at; c.warc#2 chooses "
        f"another: #1 {HOME} (Home), #2 {NEWS}"
    )


@pytest.mark.parametrize("part", ["2", NEWS])
def test_another_page_has_its_frames_and_what_an_earlier_one_fetched(tmp_path, part):
    page = read(tmp_path, LINKED, part)
    assert page.url == NEWS
    assert urls(page) == [NEWS, FRAME, PNG, CSS]
    assert f"fetched by other visits of the recording: {CSS}" in page.changes[1]


def test_without_links_a_pause_begins_a_page(tmp_path):
    data = crawl(
        visit(0, HOME),
        visit(2, FRAME, date="2018-02-06T05:05:25Z"),
        visit(4, NEWS, date=LATER),
        visit(6, PNG, date=LATER, mime="image/png"),
    )
    assert urls(read(tmp_path, data)) == [HOME, FRAME]
    assert urls(read(tmp_path, data, "2")) == [NEWS, PNG]


def test_seeds_one_after_the_other_are_told_apart_by_who_refers_to_them(tmp_path):
    data = crawl(
        visit(0, HOME),
        visit(2, CSS, referer=HOME, mime="text/css"),
        visit(4, NEWS),
        visit(6, PNG, referer=NEWS, mime="image/png"),
    )
    assert urls(read(tmp_path, data, "2")) == [NEWS, PNG]


def test_a_frame_without_a_referrer_stays_with_its_page(tmp_path):
    data = crawl(
        visit(0, HOME),
        visit(2, FRAME),
        visit(4, PNG, referer=FRAME, mime="image/png"),
        visit(6, CSS, referer=HOME, mime="text/css"),
    )
    assert urls(read(tmp_path, data)) == [HOME, FRAME, PNG, CSS]


@pytest.mark.parametrize(
    "markup",
    [
        "<script>window.location.href = '/news'</script>",
        '<meta http-equiv="refresh" content="0; URL=/news">',
        "<meta http-equiv=refresh content='0;url=https://a.test/news'>",
    ],
)
def test_where_a_page_moves_on_to_belongs_to_it(tmp_path, markup):
    data = crawl(visit(0, HOME, body=markup), visit(2, NEWS), visit(4, PNG, referer=NEWS))
    assert urls(read(tmp_path, data)) == [HOME, NEWS, PNG]


def test_what_the_browser_said_counts_for_more(tmp_path):
    data = crawl(
        visit(0, HOME, dest="document", body=f"<a href={NEWS}>"),
        visit(2, NEWS, referer=HOME, dest="empty"),
        visit(4, FRAME, dest="document"),
    )
    assert urls(read(tmp_path, data)) == [HOME, NEWS]
    assert urls(read(tmp_path, data, "2")) == [FRAME]


@pytest.mark.parametrize(
    ("markup", "date", "starts"),
    [
        ("<script>location='/news'</script>", "2018-02-06T05:05:25Z", 1),
        ("<a href=/news>", "2018-02-06T05:05:25Z", 2),
        ("<button>", LATER, 2),
    ],
)
def test_a_page_that_moves_on_by_itself_is_one_visit(tmp_path, markup, date, starts):
    data = crawl(
        visit(0, HOME, dest="document", body=markup),
        visit(2, NEWS, referer=HOME, dest="document", date=date),
    )
    assert urls(read(tmp_path, data)) == ([HOME, NEWS] if starts == 1 else [HOME])


def test_a_redirect_belongs_to_the_page_it_leads_to(tmp_path):
    data = crawl(
        visit(0, HOME, body="<a href=/go>"),
        visit(2, "https://a.test/go", referer=HOME, status="302 Found", location="/news"),
        visit(4, NEWS, referer=HOME),
        visit(6, PNG, referer=NEWS, mime="image/png"),
    )
    page = read(tmp_path, data, "2")
    assert page.url == "https://a.test/go"
    assert urls(page) == ["https://a.test/go", NEWS, PNG]


def test_what_no_visit_asked_for_is_left_out_by_name(tmp_path):
    page = read(
        tmp_path, crawl(visit(0, "https://a.test/robots.txt", mime="text/plain"), visit(2, HOME))
    )
    assert urls(page) == [HOME]
    assert page.changes == (
        "1 exchanges left out, which no visit asked for: https://a.test/robots.txt",
    )


def test_a_record_that_is_stored_before_its_document_stays_with_it(tmp_path):
    page = read(tmp_path, crawl(visit(0, CSS, referer=HOME, mime="text/css"), visit(2, HOME)))
    assert set(urls(page)) == {HOME, CSS}


def test_pages_and_their_ids_in_a_wacz_tell_what_belongs_together(tmp_path):
    first = crawl(visit(0, HOME, page="p1"), visit(2, NEWS, page="p2"))
    second = crawl(
        visit(4, PNG, page="p1", mime="image/png", date=LATER),
        visit(6, CSS, page="p2", mime="text/css", date=LATER),
    )
    listed = [{"id": "p1", "url": HOME, "title": "One"}, {"id": "p2", "url": NEWS, "title": "Two"}]
    data = wacz({"b.warc.gz": gzip.compress(second), "a.warc": first}, listed)
    assert urls(read(tmp_path, data, name="c.wacz")) == [HOME, PNG]
    page = read(tmp_path, data, "Two", name="c.wacz")
    assert urls(page) == [NEWS, CSS]
    assert page.source == "c.wacz, a WACZ"


def test_a_wacz_without_page_ids_starts_where_its_list_says(tmp_path):
    data = wacz({"a.warc": crawl(visit(0, HOME), visit(2, FRAME), visit(4, NEWS))}, [
        {"url": HOME}, {"url": NEWS}
    ])  # fmt: skip
    assert urls(read(tmp_path, data, name="c.wacz")) == [HOME, FRAME]
    assert urls(read(tmp_path, data, "2", name="c.wacz")) == [NEWS]


@pytest.mark.parametrize("dictionary", [b"", b"https://a.test/ WARC/1.0 response " * 20])
def test_zstandard_with_and_without_a_dictionary(tmp_path, dictionary):
    assert urls(read(tmp_path, zst(LINKED, dictionary), name="c.warc.zst")) == [HOME, CSS]


def test_an_arc_is_read(tmp_path):
    page = read(tmp_path, gzip.compress(arc(HOME, b"<p>old")), name="c.arc.gz")
    assert urls(page) == [HOME]
    assert page.answers[0].wire == b"<p>old"
    assert page.answers[0].server_ip == "192.0.2.1"


def test_several_files_of_one_crawl_are_one_recording(tmp_path):
    folder = tmp_path / "crawl"
    (folder / "archive").mkdir(parents=True)
    png = crawl(visit(2, PNG, referer=HOME, mime="image/png", date=LATER))
    (folder / "archive" / "a.warc.gz").write_bytes(gzip.compress(png))
    (folder / "archive" / "b.warc").write_bytes(crawl(visit(0, HOME)))
    (folder / "README.md").write_text("not a recording")
    page = read_recording(folder)
    assert urls(page) == [HOME, PNG]
    assert page.source == "crawl, a crawl of 2 WARC files"


def revisit(**fields: str) -> bytes:
    given = {"WARC-Refers-To-" + n.replace("_", "-"): v for n, v in fields.items()}
    given |= {"WARC-Refers-To": given.pop("WARC-Refers-To-ID")} if "ID" in fields else {}
    return record("revisit", 9, CSS, b"", *(f"{n}: {v}" for n, v in given.items()))


def digested(digest: str) -> bytes:
    return record("revisit", 9, CSS, b"", f"WARC-Payload-Digest: {digest}")


@pytest.mark.parametrize(
    "made",
    [
        revisit(ID="<urn:test:2>"),
        revisit(Target_URI=PNG, Date=DATE),
        digested("SHA-1:CH3K3DWFFIUYJK5K7V6DWULFAN4FYIDS"),
        digested("sha1:ch3k3dwffiuyjk5k7v6dwulfan4fyids"),
        digested("md5:9dd4e461268c8034f5c8564e155c67a6"),
        digested("MD5:9DD4E461268C8034F5C8564E155C67A6"),
    ],
)
def test_a_revisit_names_its_body_in_every_way(tmp_path, made):
    data = crawl(visit(0, HOME), visit(2, PNG, body="x", mime="image/png")) + made
    page = read(tmp_path, data)
    assert urls(page) == [HOME, PNG, CSS]
    assert page.answers[2].wire == b"x"
    assert page.answers[2].mime == "image/png"


def test_a_revisit_may_refer_to_a_revisit_and_leave_brackets_out(tmp_path):
    data = crawl(visit(0, HOME), visit(2, PNG, body="x", mime="image/png"))
    data += record("revisit", 8, CSS, b"", "WARC-Refers-To: urn:test:2")
    data += record("revisit", 9, FRAME, b"", "WARC-Refers-To: <urn:test:8>")
    page = read(tmp_path, data)
    assert urls(page) == [HOME, PNG, CSS, FRAME]
    assert {a.wire for a in page.answers[1:]} == {b"x"}


def test_a_revisit_whose_digest_contradicts_what_it_refers_to_is_left_out(tmp_path):
    data = crawl(visit(0, HOME))
    data += record(
        "response", 2, PNG, b"HTTP/1.1 200 OK\r\n\r\nx", f"WARC-Payload-Digest: md5:{'a' * 32}"
    )
    data += record(
        "revisit",
        4,
        CSS,
        b"",
        "WARC-Refers-To: <urn:test:2>",
        f"WARC-Payload-Digest: md5:{'b' * 32}",
    )
    assert urls(read(tmp_path, data)) == [HOME, PNG]


def test_a_record_without_a_block_is_left_out_by_name(tmp_path):
    data = crawl(visit(0, HOME)) + record("response", 2, CSS, b"")
    page = read(tmp_path, data)
    assert urls(page) == [HOME]
    assert "because their block is empty: record 3 (https://a.test/s.css)" in page.changes[0]


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_record_that_no_empty_line_follows_is_read(tmp_path, pack):
    records = [*visit(0, HOME), *visit(2, CSS, referer=HOME, mime="text/css")]
    page = read(tmp_path, b"".join(pack(r.removesuffix(b"\r\n\r\n")) for r in records))
    assert urls(page) == [HOME, CSS]
    assert "3 records are not followed by empty lines" in page.changes[0]


def test_a_date_that_is_no_time_keeps_its_place(tmp_path):
    data = crawl(visit(0, HOME, date=LATER), visit(2, CSS, referer=HOME, date="2018-02-06 Z0"))
    page = read(tmp_path, data)
    assert urls(page) == [HOME, CSS]
    assert page.answers[1].started == page.answers[0].started
    assert "2 records have a WARC-Date that is no time" in page.changes[0]


def test_mhtml_is_read_with_its_frames(tmp_path):
    data = mhtml(
        (
            "text/html; charset=utf-8",
            HOME,
            '<img src="https://b.test/p.png"><iframe src="cid:f@x">',
        ),
        ("image/png", PNG, "png"),
        ("text/html", "cid:f@x", "<p>framed"),
    )
    page = read(tmp_path, data, name="p.mhtml")
    assert urls(page) == [HOME, PNG, "https://a.test/mhtml-parts/f%40x"]
    assert b'src="https://a.test/mhtml-parts/f%40x"' in page.answers[0].wire
    assert any("became the addresses of their parts: f@x" in c for c in page.changes)
    assert not any("warning" in c for c in page.changes)


def test_mhtml_that_breaks_off_is_refused(tmp_path):
    whole = mhtml(("text/html", HOME, "<p>a"), ("image/png", PNG, "png"))
    with pytest.raises(PageError, match=r"p\.mht: it is cut off"):
        read(tmp_path, whole[:-20], name="p.mht")
    with pytest.raises(PageError, match=r"p\.mht has no part of HTML"):
        read(tmp_path, mhtml(("image/png", PNG, "png")), name="p.mht")


def test_flows_of_mitmproxy_are_read_by_time(tmp_path):
    data = flow("/p.png", "image/png", b"png", 2.0) + flow("/", "text/html", b"<p>", 1.0)
    data += flow("/gone", "text/html", None) + netstring({"type": "tcp"})
    page = read(tmp_path, data, name="f.mitm")
    assert urls(page) == ["https://a.test/", "https://a.test/p.png"]
    assert page.answers[0].server_ip == "192.0.2.1"
    assert page.answers[0].time_ms == 500.0
    assert "body is missing: https://a.test/gone" in page.changes[0]
    assert "not of HTTP: flow 4" in page.changes[1]
    with pytest.raises(PageError, match=r"f\.mitm is no complete file of flows .*breaks off"):
        read(tmp_path, data[:-10], name="f.mitm")
