"""Requests of a page without credentials, by its markup and by visits."""

import pytest
from msgspec import structs

import made
from dragstrip.pages.format.archive import write_page
from dragstrip.pages.format.recording import Recorded, Recording
from dragstrip.pages.graph.align import AlignedRequest
from dragstrip.pages.graph.credentials import by_visits
from dragstrip.pages.graph.structure import from_structure

HTML = b"""<html><head><link rel=stylesheet href="/a.css">
<script type=module src="https://cdn.test/m.js"></script>
<script src="https://cdn.test/plain.js"></script>
<link rel=stylesheet crossorigin href="https://cdn.test/b.css"></head>
<body><img crossorigin="use-credentials" src="https://cdn.test/with.png">
<img crossorigin src="/own.png"></body></html>"""
CSS = b"@font-face { src: url(/own.woff2) } @font-face { src: url(https://cdn.test/x.woff2) }"
ANSWERS = {
    "https://a.test/": ("text/html", HTML),
    "https://a.test/a.css": ("text/css", CSS),
    "https://cdn.test/m.js": ("text/javascript", b""),
    "https://cdn.test/plain.js": ("text/javascript", b""),
    "https://cdn.test/b.css": ("text/css", b""),
    "https://cdn.test/with.png": ("image/png", b""),
    "https://a.test/own.png": ("image/png", b""),
    "https://a.test/own.woff2": ("font/woff2", b""),
    "https://cdn.test/x.woff2": ("font/woff2", b""),
}


def test_cors_requests_to_other_origins_have_none(tmp_path):
    answers = [
        Recorded(url=url, headers=(("content-type", mime),), wire=body or b"x")
        for url, (mime, body) in ANSWERS.items()
    ]
    recording = Recording(name="p", url="https://a.test/", source="made up", answers=answers)
    graph = from_structure(write_page(tmp_path / "p.har.zip", recording))
    assert {n.url for n in graph.nodes if not n.credentials} == {
        "https://cdn.test/m.js",
        "https://cdn.test/b.css",
        "https://cdn.test/x.woff2",
    }


@pytest.mark.parametrize(
    ("connections", "expected"),
    [
        ((1, 1, 1), [True, True, True]),  # the script asked with credentials
        ((1, 1, 2), [True, True, False]),
    ],
)
def test_what_shared_a_connection_is_alike(connections, expected):
    asked = [made.request(f"https://b.test/{n}", "h2", 0.0) for n in range(3)]
    both = zip(asked, connections, strict=True)
    rows = [
        AlignedRequest((structs.replace(one, connection=connection),)) for one, connection in both
    ]
    assert by_visits([True, True, False], rows) == expected
