"""HARs as tools write them: what they leave out, mistype and re-encode, and how the import treats
it."""

import json
import os
from copy import deepcopy

import pytest

from dragstrip.model.errors import InputError
from dragstrip.pages.format.archive import load_page
from dragstrip.pages.format.recording import PageError
from dragstrip.pages.importers.har_import import read_har
from dragstrip.pages.importers.har_text import encoded
from dragstrip.pages.importers.wish import Wish
from dragstrip.pages.resolve import import_page, resolve
from dragstrip.pages.think import check_think_times
from recordings import SITE, entry, har

PAGE = "<!doctype html><title>t</title><img src=/p.gif>"


@pytest.fixture
def imported(tmp_path):
    """Imports entries, or the text of a HAR, as a recording."""

    def imports(*entries, text=None, name="site.har", wish=None, **more):
        file = tmp_path / name
        file.write_bytes(har(*entries, **more) if text is None else text)
        return read_har(file, "site", wish)

    return imports


def changed(made: dict, response=None, content=None, request=None, **fields) -> dict:
    made = deepcopy(made) | fields
    made["response"] |= response or {}
    made["response"]["content"] |= content or {}
    made["request"] |= request or {}
    return made


def document(**more) -> dict:
    return entry("https://a.test/", 0, **({"text": PAGE, "size": len(PAGE)} | more))


def answer(recording, url="https://a.test/"):
    return next(a for a in recording.answers if a.url == url)


def said(recording, words: str) -> bool:
    return any(words in change for change in recording.changes)


def test_what_a_tool_leaves_out_or_mistypes_is_as_if_it_did_not_know(imported):
    image = entry("https://a.test/1.png", 20, mime="image/png", text="PNG", size=3)
    sizes = {"bodySize": str(len(PAGE)), "headersSize": "-1", "status": "200"}
    entries = [
        changed(document(), response=sizes),
        image | {"request": {"url": "https://a.test/1.png", "headers": None}, "time": None},
        image | {"response": {"status": 200, "headers": None, "content": None}},
        {"request": {"url": "https://a.test/3.png"}, "startedDateTime": 7},
        {"pageref": "p1"},
        None,
    ]
    recording = imported(text=json.dumps({"log": {"entries": entries}}).encode())
    assert [a.url[-5:] for a in recording.answers] == ["test/", "1.png", "1.png"]
    assert answer(recording).body == PAGE.encode()
    assert said(recording, "2 entries left out, they have no request.url: log.entries[4]")
    assert said(recording, "1 entries without a startedDateTime")
    assert said(recording, "https://a.test/3.png left out: status 0")


@pytest.mark.parametrize("coding", ["utf-8-sig", "utf-16", "utf-16-be", "utf-32"])
def test_every_unicode_coding_is_read(imported, coding):
    text = har(document()).decode().encode(coding)
    assert answer(imported(text=text)).body == PAGE.encode()


def test_half_a_surrogate_pair_is_served_as_a_browser_encodes_it(imported):
    text = har(document(text="<p>cut \ud83d")).replace(b'"size": 8', b'"size": -1')
    assert answer(imported(text=text)).body == "<p>cut \ufffd".encode()


GREETING = "<p>Grüße, 日本"


@pytest.mark.parametrize(
    ("text", "kind", "size", "body", "misfit"),
    [
        ("<p>é€", "text/html; charset=ISO-8859-1", None, b"<p>\xe9\x80", ""),
        ("\x81é", "text/html; charset=ascii", None, b"\x81\xe9", ""),
        ("<meta charset=windows-1251>Ж", "text/html", None, b"<meta charset=windows-1251>\xc6", ""),
        ("日本", "text/plain; charset=Shift_JIS", None, "日本".encode("cp932"), ""),
        (
            '@charset "euc-jp";日',
            "text/css",
            None,
            b'@charset "euc-jp";' + "日".encode("euc-jp"),
            "",
        ),
        ("日本", "text/html; charset=latin1", None, "日本".encode(), "latin1"),
        ("é", "text/html; charset=klingon", None, "é".encode(), "klingon"),
        ("Grüße", "text/html", 5, b"Gr\xfc\xdfe", ""),
        ("Grüße", "text/html", 7, "Grüße".encode(), ""),
        ("Grüße", "text/html", None, "Grüße".encode(), ""),
    ],
)
def test_text_is_encoded_back_into_its_charset(text, kind, size, body, misfit):
    assert encoded(text, kind, size) == (body, misfit)


def test_text_that_does_not_fit_its_charset_is_served_as_utf_8_and_named(imported):
    latin = document(text=GREETING, mime="text/html; charset=iso-8859-1")
    recording = imported(latin)
    assert answer(recording).body == GREETING.encode()
    assert dict(answer(recording).headers)["content-type"] == "text/html; charset=utf-8"
    assert said(recording, "1 bodies are served in UTF-8, because they do not fit iso-8859-1")


def cached(url: str, decoded: int, **more) -> dict:
    made = entry(url, 30, mime="text/javascript", headers={"content-encoding": "br"}, **more)
    sizes = {"bodySize": 0, "headersSize": -1, "_transferSize": 0}
    return changed(made, response=sizes, content={"size": decoded})


def test_a_compressed_answer_from_a_cache_counts_what_it_would_take_on_the_wire(imported):
    script = "function f(a, b) { return a + b; }\n" * 2_000
    held = cached("https://a.test/a.js", len(script), text=script)
    with_body = imported(document(), held)
    assert len(answer(with_body, "https://a.test/a.js").wire) < len(script) / 10
    assert said(with_body, "an estimate 1")
    assert said(with_body, "1 sizes on the wire are estimates")
    bare = imported(document(text=""), cached("https://a.test/a.js", 100_000))
    assert len(answer(bare, "https://a.test/a.js").wire) == 30_000
    others = [
        changed(
            entry(f"https://a.test/{i}.js", 20, size=200, headers={"content-encoding": "br"}),
            content={"size": 1_000},
        )
        for i in range(5)
    ]
    like = imported(document(text=""), *others, cached("https://a.test/a.js", 100_000))
    assert len(answer(like, "https://a.test/a.js").wire) == 20_000


@pytest.mark.parametrize(
    ("status", "headers", "response", "decoded", "size"),
    [
        (200, {"content-length": "0"}, {"bodySize": 3677}, 3677, 3677),
        (200, {"content-length": "0"}, {"bodySize": 0}, 0, 0),
        (
            206,
            {"content-length": "318465"},
            {"bodySize": -1, "_transferSize": 112},
            147_456,
            147_456,
        ),
        (200, {"content-length": "900"}, {"bodySize": -1, "_transferSize": -1}, 900, 900),
        (200, {}, {"bodySize": "-1", "_transferSize": "640"}, 900, 640),
        (200, {}, {"bodySize": -197, "_transferSize": -1}, 900, 900),
    ],
)
def test_a_size_that_another_field_belies_is_not_believed(
    imported, status, headers, response, decoded, size
):
    video = entry("https://a.test/v.mp4", 20, mime="video/mp4", status=status, headers=headers)
    video = changed(video, response={"headersSize": -1} | response, content={"size": decoded})
    recording = imported(document(text=""), video)
    assert len(answer(recording, "https://a.test/v.mp4").wire) == size


def test_a_reload_keeps_its_bodies(imported):
    fresh = entry("https://a.test/a.css", 20, mime="text/css", text="p{}", size=3)
    again = changed(document(status=304, mime=""), content={"mimeType": "text/html"})
    again["response"]["headers"] = []
    recording = imported(changed(again, response={"bodySize": 0}), fresh)
    assert (answer(recording).status, answer(recording).body) == (200, PAGE.encode())
    assert answer(recording).mime == "text/html"
    assert said(recording, "1 answers with status 304 are served whole, with status 200")


def test_a_304_without_its_body_is_made_up_of_its_size(imported):
    kept = entry("https://a.test/p.png", 20, mime="image/png", status=304)
    recording = imported(document(), changed(kept, content={"size": 900}))
    picture = answer(recording, "https://a.test/p.png")
    assert (picture.status, len(picture.wire)) == (200, 900)
    assert said(recording, "1 bodies that the HAR lacks are made up at their recorded size")


def waiting(made: dict, wait: float, **timings) -> dict:
    return made | {"timings": {"send": 0, "wait": wait, "receive": 1} | timings}


@pytest.mark.parametrize("text", [PAGE, ""])
def test_servers_think_for_their_wait_less_a_round_trip(imported, text):
    recording = imported(
        waiting(document(text=text), 640, connect=100, ssl=60),
        waiting(entry("https://a.test/1.png", 30, mime="image/png", size=9), 90),
        waiting(entry("https://b.test/1.png", 30, mime="image/png", size=9), 30, connect=-1),
        waiting(entry("https://b.test/2.png", 30, mime="image/png", size=9), 55),
    )
    assert [a.think_ms for a in recording.answers] == [600, 50, 0, 25]
    assert said(recording, "servers took up to 600 ms to answer")
    assert said(recording, "no connect to b.test, so the least wait there")


def test_a_study_with_think_times_names_the_page_that_has_none(tmp_path):
    (tmp_path / "site.har").write_bytes(har(waiting(document(), 600)))
    page = resolve(str(tmp_path / "site.har"), tmp_path / "cache")
    with pytest.raises(InputError, match=r"think_time: page site says of no answer .*--think 80ms"):
        check_think_times([page])
    given = import_page(tmp_path / "site.har", tmp_path / "p.har.zip", Wish(think_ms=80))
    check_think_times([given])


def attached(folder, *names: str) -> None:
    entries = [
        document(),
        *(entry(f"https://a.test/{n}", 20, mime="image/gif", size=6) for n in names),
    ]
    for made, name in zip(entries, ("doc.html", *names), strict=True):
        made["response"]["content"] = {"size": 6, "mimeType": "text/html", "_file": name}
        made["response"]["bodySize"] = 6
    (folder / "site.har").write_bytes(har(*entries))
    (folder / "doc.html").write_bytes(b"<p>doc")


def test_bodies_beside_a_har_are_read(tmp_path):
    attached(tmp_path, "sub/p.gif")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "p.gif").write_bytes(b"GIF89a")
    cache = tmp_path / "cache"
    first = resolve(str(tmp_path / "site.har"), cache)
    assert [r.body_bytes for r in first.resources] == [6, 6]
    (tmp_path / "doc.html").write_bytes(b"<p>new")
    assert resolve(str(tmp_path / "site.har"), cache).digest != first.digest


def test_a_folder_with_one_har_is_that_har(tmp_path):
    folder = tmp_path / "saved"
    (folder / "sub").mkdir(parents=True)
    attached(folder, "sub/p.gif")
    (folder / "sub" / "p.gif").write_bytes(b"GIF89a")
    page = resolve(str(folder), tmp_path / "cache")
    assert (page.name, len(page.resources)) == ("saved", 2)


@pytest.mark.parametrize("name", ["../secret", "/etc/hostname", "link", "gone.gif", "pipe", "a\0b"])
def test_bodies_outside_the_folder_are_not_read(tmp_path, name):
    folder = tmp_path / "in"
    folder.mkdir()
    (tmp_path / "secret").write_bytes(b"secret")
    (folder / "link").symlink_to(tmp_path / "secret")
    os.mkfifo(folder / "pipe")
    attached(folder, name)
    recording = read_har(folder / "site.har", "site")
    assert recording.answers[0].body == b"<p>doc"
    assert b"secret" not in recording.answers[1].wire
    assert said(recording, "1 bodies are not there")


def test_a_page_file_is_imported_as_a_copy(tmp_path):
    (tmp_path / "site.har").write_bytes(har(*SITE))
    page = import_page(tmp_path / "site.har", tmp_path / "p.har.zip")
    copy = import_page(page.path, tmp_path / "copy.har.zip")
    assert copy.digest == page.digest
    slow = import_page(page.path, tmp_path / "slow.har.zip", Wish(think_ms=80, done="network-idle"))
    assert (slow.done, slow.resources) == ("network-idle", page.resources)
    assert "80 ms for https://a.test/" in slow.changes[-1]
    assert load_page(slow.path) == slow
    with pytest.raises(PageError, match="is a page file already, so --busy has nothing"):
        import_page(page.path, tmp_path / "x.har.zip", Wish(busy=True))


@pytest.mark.parametrize("text", [PAGE, ""])
def test_secrets_are_left_out_with_bodies_and_without(imported, text):
    secret = entry("https://a.test/x.js?token=abc&b=1", 20, mime="text/javascript", size=9)
    cookie = document(text=text, headers={"set-cookie": "a=b"})
    recording = imported(cookie, secret)
    assert recording.answers[1].url == "https://a.test/x.js?token=xxx&b=1"
    assert "set-cookie" not in dict(recording.answers[0].headers)
    assert said(recording, "tokens of 2 exchanges were left out; --keep-secrets keeps them")
    kept = imported(cookie, secret, wish=Wish(keep_secrets=True))
    assert kept.answers[1].url.endswith("?token=abc&b=1")


LATE = entry("https://a.test/", 900, size=6_000)
IMAGE = entry("https://a.test/1.png", 10, mime="image/png", size=70)
STYLE = entry("https://a.test/1.css", 10, mime="text/css", size=70)


@pytest.mark.parametrize(
    ("entries", "more", "said"),
    [
        ((IMAGE, STYLE), {}, "it holds no document, only 1 image, 1 style; start the recorder"),
        ((entry("https://a.test/", 0, status=0),), {}, "was not answered .status 0.; record"),
        ((entry("ftp://a.test/", 0, size=9),), {}, "cannot be served: the scheme ftp"),
        ((IMAGE, LATE), {"load_ms": 500}, "began at 900 ms, after the load event at 500 ms"),
        (
            (IMAGE, STYLE, entry("https://b.test/", 90, size=9, page="p2")),
            {"pages": 2},
            "this page of the HAR has no document; choose one of the others: #2 https://b.test/",
        ),
        (
            (entry("https://a.test/x.pdf", 0, mime="application/pdf", size=9),),
            {},
            "https://a.test/x.pdf is application/pdf and no HTML document",
        ),
    ],
)
def test_each_cause_of_a_missing_document_has_its_sentence(imported, entries, more, said):
    with pytest.raises(PageError, match=said) as refused:
        imported(*entries, **more)
    assert "site.har" in str(refused.value)


def test_what_began_before_the_document_is_left_out_and_named(imported):
    recording = imported(IMAGE, entry("https://a.test/", 20, size=6_000), STYLE | {"time": 5})
    assert recording.url == "https://a.test/"
    assert said(recording, "requests left out that began before the document")
