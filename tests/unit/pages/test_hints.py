"""What Early Hints may name of a page."""

from pathlib import Path

import msgspec
import pytest

from dragstrip.model.page import Page
from dragstrip.pages.format.archive import write_page
from dragstrip.pages.format.recording import Recorded, Recording
from dragstrip.pages.hints import early_hints
from dragstrip.pages.importers.har_import import read_har

URL = "https://a.test/"
HTML = b"""<!doctype html><html><head><link rel="stylesheet" href="/a.css">
<link rel="stylesheet" href="https://cdn.test/b.css" crossorigin>
<script src="/a.js"></script><script async src="/later.js"></script>
<link rel="stylesheet" media="print" href="/c.css"></head><body><img src="/a.png"></body></html>"""
LINK = "</a.css>; rel=preload; as=style, </x>; rel=next"


def recorded(url: str, mime: str, body: bytes = b"x", *more: tuple[str, str], **fields) -> Recorded:
    return Recorded(url=url, headers=(("content-type", mime), *more), wire=body, **fields)


def page(folder: Path, document: Recorded, *first: Recorded) -> Page:
    answers = [
        *first,
        document,
        recorded(f"{URL}a.css", "text/css", b"p {}"),
        recorded("https://cdn.test/b.css", "text/css", b"p {}"),
        recorded(f"{URL}a.js", "text/javascript"),
        recorded(f"{URL}later.js", "text/javascript"),
        recorded(f"{URL}a.png", "image/png"),
    ]
    url = answers[0].url
    recording = Recording(name="p", url=url, source="made up", answers=answers)
    return write_page(folder / "p.har.zip", recording)


def test_what_holds_up_rendering_is_named(tmp_path):
    hinted = page(tmp_path, recorded(URL, "text/html", HTML))
    assert early_hints(hinted, "blocking") == {
        URL: (
            "<https://a.test/a.css>; rel=preload; as=style",
            "<https://cdn.test/b.css>; rel=preload; as=style; crossorigin",
            "<https://a.test/a.js>; rel=preload; as=script",
        )
    }
    assert early_hints(hinted, "none") == {}


def test_recorded_links_are_named(tmp_path):
    document = recorded(URL, "text/html", HTML, ("Link", LINK))
    assert early_hints(page(tmp_path, document), "link") == {
        URL: ("</a.css>; rel=preload; as=style",)
    }
    assert early_hints(page(tmp_path, recorded(URL, "text/html", HTML)), "link") == {}


def test_a_recorded_103_answer_is_sent_again(tmp_path):
    document = recorded(
        URL, "text/html", HTML, ("link", LINK), early_hints=("<b.js>; rel=preload; as=script",)
    )
    hinted = page(tmp_path, document)
    assert early_hints(hinted, "link") == {URL: ("<b.js>; rel=preload; as=script",)}


def test_hints_belong_to_the_document_that_a_redirect_leads_to(tmp_path):
    moved = Recorded(url="https://b.test/", status=301, headers=(("location", URL),))
    hinted = page(tmp_path, recorded(URL, "text/html", HTML), moved)
    assert set(early_hints(hinted, "blocking")) == {URL}


@pytest.mark.parametrize(
    ("field", "kept"), [(["<b.js>; rel=preload"], ("<b.js>; rel=preload",)), ("odd", ()), ([1], ())]
)
def test_a_har_may_tell_of_a_103_answer(tmp_path, field, kept):
    entry = {
        "startedDateTime": "2026-01-01T00:00:00Z",
        "request": {"method": "GET", "url": URL},
        "response": {
            "status": 200,
            "headers": [{"name": "content-type", "value": "text/html"}],
            "content": {"size": 3, "text": "<p>"},
        },
        "_early_hints": field,
    }
    path = tmp_path / "page.har"
    path.write_bytes(msgspec.json.encode({"log": {"entries": [entry]}}))
    (answer,) = read_har(path, "p").answers
    assert answer.early_hints == kept
