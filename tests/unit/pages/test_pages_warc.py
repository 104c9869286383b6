"""WARC import: our own small file, the real recordings where present, and damaged ones."""

import gzip
import hashlib
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragstrip.pages.format.archive import load_page, write_page
from dragstrip.pages.format.recording import PageError
from dragstrip.pages.importers.kinds import read_recording
from made_archives import exchange, message, record, warc

RECORDINGS = Path(__file__).parents[4] / "shared" / "data" / "warc"

FACTS = {
    # name: start, answers, hosts, wire bytes of all bodies, changes
    "360": ("https://www.360.cn/", 136, 12, 3_282_334, 3),
    "baidu": ("https://www.baidu.com/", 15, 2, 200_795, 1),
    "google": ("https://google.com/", 13, 6, 872_162, 1),
    "googleuk": ("https://www.google.co.uk/", 9, 4, 790_891, 1),
    "instagram": ("https://instagram.com/", 20, 5, 916_220, 1),
    "reddit": ("https://www.reddit.com/", 69, 19, 1_149_105, 1),
    "sohu": ("https://www.sohu.com/", 56, 12, 662_911, 3),
    "taobao": ("https://www.taobao.com/", 114, 27, 1_338_223, 4),
    "vk": ("https://www.vk.com/", 29, 2, 903_135, 1),
    "weibo": ("https://www.weibo.com/us/", 148, 32, 2_166_440, 1),
    "wikipedia": ("https://www.wikipedia.org/", 6, 1, 58_455, 1),
}

GZIPPED = gzip.compress(b"body { color: teal }", mtime=0)
CHUNKED = b"5\r\n" + GZIPPED[:5] + b"\r\n%x;a=b\r\n" % len(GZIPPED[5:]) + GZIPPED[5:]
CHUNKED += b"\r\n0\r\n\r\n"
GZIP = ("Content-Encoding", "gzip")
CHUNKS = ("Transfer-Encoding", "chunked")
HTML = ("Content-Type", "text/html")


@pytest.fixture
def read(tmp_path):
    def read_bytes(data: bytes):
        path = tmp_path / "a.warc.gz"
        path.write_bytes(data)
        return read_recording(path)

    return read_bytes


PAGE = (
    ("https://a.test/", "200 OK", [HTML], b"<p>hello"),
    ("https://a.test/style.css", "200 OK", [GZIP, CHUNKS], CHUNKED),
    ("https://b.test/log", "204 No Content", [], b"", "POST"),
    ("https://b.test/log", "500 Oh dear", [], b"second", "POST"),
)


@pytest.mark.parametrize("compressed", [True, False])
def test_answers_keep_their_order_methods_and_bodies(read, compressed):
    page = read(warc(*PAGE, compressed=compressed))
    assert [(a.method, a.url, a.status, a.status_text) for a in page.answers] == [
        ("GET", "https://a.test/", 200, "OK"),
        ("GET", "https://a.test/style.css", 200, "OK"),
        ("POST", "https://b.test/log", 204, "No Content"),
        ("POST", "https://b.test/log", 500, "Oh dear"),
    ]
    assert [a.wire for a in page.answers] == [b"<p>hello", GZIPPED, b"", b"second"]
    assert page.answers[1].body == b"body { color: teal }"
    assert page.answers[1].headers == (GZIP,)
    assert page.url == "https://a.test/"


def test_cookies_of_the_recording_client_are_left_out(read):
    page = read(warc(*PAGE))
    assert all(a.request_headers == (("Accept", "*/*"),) for a in page.answers)


@pytest.mark.parametrize("body", [b"abc\r\n123\r\n", b"5\r\nhello", b"plain", b"0", b""])
def test_a_body_stored_de_chunked_loses_no_byte(read, body):
    page = read(warc(("https://a.test/", "200 OK", [HTML, CHUNKS], body)))
    assert page.answers[0].wire == body


@given(chunks=st.lists(st.binary(min_size=1, max_size=40), max_size=8))
def test_chunks_are_joined(tmp_path_factory, chunks):
    path = tmp_path_factory.mktemp("chunks") / "a.warc.gz"
    body = b"".join(b"%x\r\n%b\r\n" % (len(c), c) for c in chunks) + b"0\r\n\r\n"
    path.write_bytes(warc(("https://a.test/", "200 OK", [HTML, CHUNKS], body)))
    assert read_recording(path).answers[0].wire == b"".join(chunks)


def _with_revisit(body: bytes, target: bytes) -> bytes:
    digest = f"WARC-Payload-Digest: sha1:{hashlib.sha1(target).hexdigest()}"
    answer = message("HTTP/1.1 200 OK", [HTML], b"")
    revisit = record("revisit", 50, "https://b.test/same", answer, digest)
    return warc(("https://a.test/", "200 OK", [HTML], body), more=[revisit])


def test_a_revisit_gets_the_body_the_file_holds(read):
    page = read(_with_revisit(b"<p>same", b"<p>same"))
    assert [(a.url, a.wire) for a in page.answers] == [
        ("https://a.test/", b"<p>same"),
        ("https://b.test/same", b"<p>same"),
    ]


def test_a_revisit_of_a_body_elsewhere_is_left_out_by_name(read):
    page = read(_with_revisit(b"<p>this", b"<p>that"))
    assert [a.url for a in page.answers] == ["https://a.test/"]
    assert page.changes[0] == (
        "1 revisits left out, because the file does not hold the body they refer to: "
        "record 4 (https://b.test/same)"
    )


@pytest.mark.parametrize("compressed", [True, False])
def test_a_file_that_breaks_off_within_a_record_is_refused(read, compressed):
    shorter = warc(*PAGE[:3], compressed=compressed)
    last = exchange(6, *PAGE[3])[0]
    last = gzip.compress(last, mtime=0) if compressed else last
    end = 0 if compressed else 4  # the empty lines after a record may be missing
    for cut in range(1, len(last) - end):
        with pytest.raises(PageError, match="is not a complete WARC file"):
            read(shorter + last[:cut])
    assert len(read(shorter + last).answers) == 4


@pytest.mark.parametrize(
    "data", [b"", b"hello\n", b"\x1f\x8b\x08junk", gzip.compress(b"WARC/1.0", mtime=0)]
)
def test_what_is_no_warc_is_a_page_error(read, data):
    with pytest.raises(PageError, match=r"a\.warc\.gz"):
        read(data)


@given(data=st.data(), compressed=st.booleans())
def test_a_damaged_file_is_a_page_error_or_a_page(tmp_path_factory, data, compressed):
    folder = tmp_path_factory.mktemp("damaged")
    damaged = bytearray(warc(*PAGE, compressed=compressed))
    for _ in range(data.draw(st.integers(1, 6))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    (folder / "a.warc.gz").write_bytes(damaged)
    page = None
    with suppress(PageError):
        page = write_page(folder / "a.har.zip", read_recording(folder / "a.warc.gz"))
    assert (folder / "a.har.zip").exists() == (page is not None)
    if page:
        assert load_page(folder / "a.har.zip") == page


@pytest.mark.skipif(not RECORDINGS.is_dir(), reason="the recordings of ../shared are absent")
@pytest.mark.parametrize("name", FACTS)
def test_real_recordings_become_pages_with_all_their_hosts(tmp_path, name):
    recording = read_recording(RECORDINGS / f"{name}.warc.gz")
    page = write_page(tmp_path / f"{name}.har.zip", recording)
    facts = (page.url, len(page.resources), len(page.hosts), page.body_bytes, len(page.changes))
    assert facts == FACTS[name]
