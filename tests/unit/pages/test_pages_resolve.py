"""PAGE of the command line, its cache, and what `page show` counts."""

import gzip
import zipfile

import pytest

from dragstrip.pages import resolve as resolving
from dragstrip.pages.format import har
from dragstrip.pages.format.archive import HAR_MEMBER, write_page
from dragstrip.pages.format.recording import PageError
from dragstrip.pages.generators.synth import synth
from dragstrip.pages.importers.wish import Wish
from dragstrip.pages.resolve import import_page, resolve
from dragstrip.pages.show import PageShare, summarise

HTTP = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>hello"
WARC = b"""WARC/1.0\r
WARC-Type: response\r
WARC-Record-ID: <urn:test:1>\r
WARC-Target-URI: https://a.test/\r
WARC-Date: 2018-02-06T05:05:23Z\r
Content-Length: %d\r
\r
%b\r
\r
""" % (len(HTTP), HTTP)


def test_synth_is_made_once_and_then_loaded(tmp_path, monkeypatch):
    page = resolve("synth:3x1KB", tmp_path)
    assert (page.name, len(page.resources)) == ("synth-3x1KB", 4)
    monkeypatch.setattr(resolving, "synth", lambda spec: pytest.fail("made again"))
    assert resolve("synth:3x1KB", tmp_path) == page


def test_a_page_beside_us_is_known_by_its_whole_path(tmp_path, monkeypatch):
    made = resolve("synth:3x1KB", tmp_path)
    monkeypatch.chdir(made.path.parent)
    assert resolve(made.path.name, tmp_path).path == made.path


def test_a_damaged_cache_is_made_again(tmp_path):
    page = resolve("synth:3x1KB", tmp_path)
    page.path.write_bytes(page.path.read_bytes()[:99])
    assert resolve("synth:3x1KB", tmp_path) == page


@pytest.mark.parametrize(
    ("file", "content"), [("site.warc", WARC), ("site.warc.gz", gzip.compress(WARC, mtime=0))]
)
def test_a_recording_is_imported_under_its_stem_and_again_when_it_changes(tmp_path, file, content):
    path = tmp_path / file
    path.write_bytes(content)
    page = resolve(str(path), tmp_path / "cache")
    assert (page.name, page.url) == ("site", "https://a.test/")

    changed = WARC.replace(b"hello", b"HELLO")
    path.write_bytes(gzip.compress(changed) if file.endswith("gz") else changed)
    assert resolve(str(path), tmp_path / "cache").digest != page.digest


def test_a_page_file_is_taken_where_it_is(tmp_path):
    page = write_page(tmp_path / "mine.har.zip", synth("2x1KB"))
    assert resolve(str(page.path), tmp_path / "cache") == page
    assert not (tmp_path / "cache").exists()


def test_import_writes_where_it_is_told(tmp_path):
    (tmp_path / "site.warc").write_bytes(WARC)
    page = import_page(tmp_path / "site.warc", tmp_path / "deep" / "out.har.zip")
    assert page.path == tmp_path / "deep" / "out.har.zip"
    assert page.name == "site"


def test_an_import_may_say_how_long_the_document_takes(tmp_path):
    (tmp_path / "site.warc").write_bytes(WARC)
    wish = Wish(think_ms=600.0)
    page = import_page(tmp_path / "site.warc", tmp_path / "slow.har.zip", wish)
    (entry,) = har.decode(zipfile.ZipFile(page.path).read(HAR_MEMBER)).log.entries
    assert entry.dragstrip.think_ms == 600.0
    assert "takes 600 ms" in page.changes[-1]


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ("redit.warc.gz", r"no page 'redit.warc.gz': give a file .*, demo, or synth:64x10KB"),
        ("synth:many", "count x size"),
        ("{tmp}/notes.txt", "not a recording .* give a file"),
        ("{tmp}/.warc", "not a recording"),
        ("{tmp}/folder.warc", "cannot be read"),
        ("", "no page|not a recording"),
    ],
)
def test_an_unknown_or_unreadable_page_is_said_with_what_is_known(tmp_path, given, complaint):
    (tmp_path / "notes.txt").write_text("x")
    (tmp_path / ".warc").write_text("x")
    (tmp_path / "folder.warc").mkdir()
    with pytest.raises(PageError, match=complaint):
        resolve(given.format(tmp=tmp_path), tmp_path / "cache")


def test_a_page_is_counted_by_host_type_and_status(tmp_path):
    summary = summarise(write_page(tmp_path / "s.har.zip", synth("5x1KB", hosts=2)))
    html = summary.wire_bytes - 5_000
    assert summary.objects == 6
    assert summary.hosts == (
        PageShare("www.synth.test", 4, html + 3_000),
        PageShare("s2.synth.test", 2, 2_000),
    )
    assert summary.types == (PageShare("image/png", 5, 5_000), PageShare("text/html", 1, html))
    assert summary.statuses == (PageShare("200", 6, summary.wire_bytes),)
