"""A 103 answer (Early Hints) that Chromium sees while it records a page is kept, and sent again."""

from msgspec import structs

from conftest import CLIENT
from dragstrip.browsers.chromium import inside
from dragstrip.browsers.record import record
from dragstrip.pages.format.archive import write_page
from dragstrip.pages.format.recording import Recorded, Recording
from dragstrip.pages.hints import early_hints
from dragstrip.study.presets import find_stack
from dragstrip.testbed.testbed import testbed as open_testbed

URL = "https://a.test/"
LINK = "</a.css>; rel=preload; as=style"


def test_a_103_answer_is_recorded(tmp_path):
    html = b'<!doctype html><link rel="stylesheet" href="/a.css"><p>Hello'
    answers = [
        Recorded(url=URL, headers=(("content-type", "text/html"),), wire=html, early_hints=(LINK,)),
        Recorded(url=f"{URL}a.css", headers=(("content-type", "text/css"),), wire=b"p {}"),
    ]
    recording = Recording(name="made", url=URL, source="a test", answers=answers)
    made = write_page(tmp_path / "made.har.zip", recording)
    with open_testbed(made.hosts) as bed:
        bed.origin.serve(made)
        bed.origin.tune(structs.replace(find_stack("h2"), early_hints="link"))
        found = record(inside(bed), URL, CLIENT, settle_ms=200, keep_secrets=False)
        again = write_page(tmp_path / "again.har.zip", found)
    assert early_hints(again, "link") == {URL: (LINK,)}
    assert [r.status for r in again.resources if r.url == URL] == [200]
