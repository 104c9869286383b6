"""Record, then replay: a page with every known difficulty for recorders loads as it was."""

import gzip
import math
import struct
import zipfile

import brotli
import pytest

from conftest import CLIENT
from dragstrip.browsers.chromium import inside
from dragstrip.browsers.record import record
from dragstrip.pages.format.archive import write_page
from dragstrip.pages.format.recording import PageError, Recorded
from dragstrip.pages.generators.synth import noise_png
from dragstrip.pages.importers.prepare import prepare
from dragstrip.pages.tree import depths, initiator_tree
from dragstrip.testbed.testbed import testbed as open_testbed
from dragstrip.verdict.page_check import check

A, B = "https://a.test", "https://b.test"
SECRET = "s3cret"

DOCUMENT = f"""<!doctype html><html><head>
<link rel="stylesheet" href="{A}/style.css"></head><body style="background:#cde"><h1>all</h1>
<img src="{A}/moved.png" width="80" height="80">
<img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">
<iframe src="{B}/frame.html" width="300" height="100"></iframe>
<audio preload="auto" src="{A}/tone.wav"></audio>
<script src="{A}/main.js?token={SECRET}&v=1"></script></body></html>"""

SCRIPT = f"""
const done = what => what.catch(() => 0);
const held = new Image(); held.src = "{A}/held.png"; document.body.append(held);
new Worker("/worker.js");
done(fetch("/api", {{method: "POST", headers: {{Authorization: "Bearer {SECRET}"}}, body: "x"}}));
done(fetch("{B}/cors", {{headers: {{"X-Own": "1"}}}}));
done(fetch("/nothing"));
done(fetch("https://nowhere.test/"));
"""


def tone() -> bytes:
    samples = [round(9000 * math.sin(i / 9)) for i in range(20_000)]
    data = struct.pack(f"<{len(samples)}h", *samples)
    head = struct.pack("<IHHIIHH", 16, 1, 1, 8000, 16000, 2, 16)
    return (
        b"RIFF"
        + struct.pack("<I", 36 + len(data))
        + b"WAVEfmt "
        + head
        + b"data"
        + (struct.pack("<I", len(data)) + data)
    )


def answer(url: str, mime: str, body: bytes | str = b"", *, coding: str = "", **more) -> Recorded:
    raw = body.encode() if isinstance(body, str) else body
    code = {"": bytes, "gzip": lambda b: gzip.compress(b, mtime=0), "br": brotli.compress}[coding]
    headers = [("content-type", mime), *more.pop("headers", ())]
    headers += [("content-encoding", coding)] if coding else []
    return Recorded(url=url, headers=tuple(headers), wire=code(raw), **more)


ANSWERS = [
    answer(f"{A}/", "text/html", DOCUMENT, coding="gzip", headers=[("set-cookie", f"id={SECRET}")]),
    answer(f"{A}/style.css", "text/css", "h1 { color: #246 }", coding="br"),
    answer(f"{A}/main.js?token={SECRET}&v=1", "text/javascript", SCRIPT),
    answer(f"{A}/moved.png", "text/plain", status=302, headers=[("location", f"{B}/it.png")]),
    answer(f"{B}/it.png", "image/png", noise_png(3000, "it")),
    answer(f"{A}/held.png", "image/png", noise_png(2000, "held")),
    answer(f"{B}/frame.html", "text/html", f'<p>frame<script src="{B}/frame.js"></script>'),
    answer(f"{B}/frame.js", "text/javascript", "document.body.append('script')"),
    answer(f"{A}/tone.wav", "audio/wav", tone()),
    answer(f"{A}/worker.js", "text/javascript", "fetch('/worker.json')"),
    answer(f"{A}/worker.json", "application/json", "{}"),
    answer(f"{A}/api", "text/plain", b"", method="POST", status=204),
    answer(f"{B}/cors", "text/plain", "yes", headers=[("access-control-allow-origin", "*")]),
    answer(f"{A}/nothing", "text/plain", "no such thing", status=404),
]


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The page as made, and as recorded from an origin that serves it."""
    folder = tmp_path_factory.mktemp("record")
    made = write_page(folder / "made.har.zip", prepare("made", "a test", ANSWERS))
    with open_testbed(made.hosts) as bed:
        bed.origin.serve(made)
        recording = record(inside(bed), made.url, CLIENT, settle_ms=500, keep_secrets=False)
        return made, write_page(folder / "again.har.zip", recording)


def test_a_page_that_does_not_load_is_not_recorded(pages):
    with open_testbed(["a.test"]) as bed, pytest.raises(PageError, match="NAME_NOT_RESOLVED"):
        record(inside(bed), "https://nowhere.test/", CLIENT, settle_ms=0, keep_secrets=False)


def by_url(page):
    return {(r.method, r.url): r for r in page.resources if r.method != "OPTIONS"}


def test_every_request_is_there_with_its_bytes_as_they_crossed_the_wire(pages):
    made, again = ({k[1].replace(SECRET, "x" * 6): r for k, r in by_url(p).items()} for p in pages)
    assert set(again) == set(made)
    for url, recorded in again.items():
        assert recorded.body_bytes == made[url].body_bytes, url
        expected = 206 if url.endswith("tone.wav") else made[url].status
        assert (recorded.status, recorded.mime) == (expected, made[url].mime)
    preflights = [r for r in pages[1].resources if r.method == "OPTIONS"]
    assert [r.url for r in preflights] == [f"{B}/cors"]


def test_who_asked_for_what(pages):
    initiators = {r.url: r.initiator for r in pages[1].resources}
    script = next(url for url in initiators if "main.js" in url)
    assert initiators[f"{A}/style.css"] == f"{A}/"
    assert initiators[f"{A}/nothing"] == script
    assert initiators[f"{B}/frame.js"] == f"{B}/frame.html"
    assert len(depths(initiator_tree(pages[1]))) >= 3


def test_no_secret_is_left(pages):
    _, again = pages
    with zipfile.ZipFile(again.path) as archive:
        text = archive.read("har.har").decode()
    assert SECRET not in text
    assert "set-cookie" not in text.lower()
    assert f"token={'x' * len(SECRET)}&v=1" in text


def test_what_failed_is_kept_as_a_failure(pages):
    failures = [(f.method, f.url, f.error) for f in pages[1].failures]
    assert failures == [("GET", "https://nowhere.test/", "ERR_NAME_NOT_RESOLVED")]


def test_the_replay_asks_for_the_same_and_looks_the_same(pages):
    _, again = pages
    assert again.load_ms is not None
    for made in check(again, CLIENT):
        assert (made.outcome, made.missed) == ("loaded", ())
        assert made.fidelity.missed == ()
        assert made.fidelity.bytes_share == 1.0
        assert made.distance is not None
        assert made.distance.ssim > 0.99
        assert made.distance.differing < 0.01
