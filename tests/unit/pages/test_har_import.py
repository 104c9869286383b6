"""HARs: what is read, how a HAR without bodies is imported, and what is said of a broken one."""

import io
import json
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from dragstrip.model.errors import InputError
from dragstrip.pages.format import zstd
from dragstrip.pages.format.archive import write_page
from dragstrip.pages.format.recording import PageError
from dragstrip.pages.graph.store import graph_of
from dragstrip.pages.importers.har_import import read_har
from dragstrip.pages.importers.wish import Wish
from dragstrip.pages.resolve import import_page, resolve
from recordings import PIXEL, SEEDS, SITE, WITH_BODIES, entry, har, playwright


@pytest.fixture
def imported(tmp_path):
    """Imports entries, or the bytes of a HAR."""

    def imports(*entries, data=None, name="site.har", wanted="", **more):
        file = tmp_path / name
        file.write_bytes(har(*entries, **more) if data is None else data)
        return read_har(file, "site", Wish(part=wanted))

    return imports


def sent(recording, url):
    return next(a for a in recording.answers if a.url == url)


def test_a_har_without_bodies_keeps_requests_hosts_types_and_wire_sizes(imported):
    recording = imported(*SITE)
    expected = [(e["request"]["url"], e["response"]["bodySize"]) for e in SITE]
    assert [(a.url, len(a.wire)) for a in recording.answers] == expected
    assert sent(recording, "https://c.test/1.jpg").mime == "image/jpeg"
    assert any("made up" in c for c in recording.changes)


@pytest.mark.parametrize("text", [None, "<!doctype html><p>site"])
def test_the_bytes_that_a_request_uploaded_are_kept(imported, tmp_path, text):
    """HARs with and without bodies keep the upload. What scripts of the page send is not
    promised."""
    document = entry("https://a.test/", 0, size=500, **({"text": text} if text else {}))
    upload = entry("https://a.test/post", 100, mime="text/plain", method="POST", text="ok", size=2)
    upload["request"]["bodySize"] = 70_000
    recording = imported(document, upload)
    page = write_page(tmp_path / "p.har.zip", recording)
    assert graph_of(page).nodes[1].upload_bytes == 70_000
    assert page.upload_bytes == 0


def test_each_object_is_named_by_the_one_that_caused_it(imported):
    recording = imported(*SITE)
    bodies = {a.url: a.body.decode("latin-1") for a in recording.answers}
    document = bodies["https://a.test/"]
    assert 'href="https://a.test/s.css"' in document
    assert 'src="https://c.test/1.jpg"' in document
    assert "https://c.test/f.woff2" in bodies["https://a.test/s.css"]
    assert "https://c.test/f.woff2" not in document
    assert '"https://d.test/t"' in bodies["https://b.test/x.js"]
    assert sent(recording, "https://c.test/f.woff2").inferred
    assert not sent(recording, "https://a.test/s.css").inferred


def test_a_redirect_leads_on_and_only_the_browser_follows_it(imported):
    recording = imported(*SITE)
    redirect = sent(recording, "https://d.test/t")
    assert dict(redirect.headers)["location"] == "https://e.test/p.gif"
    assert not any("e.test/p.gif" in a.body.decode("latin-1") for a in recording.answers)


def test_what_has_no_room_for_its_children_has_them_asked_for_on_its_behalf(imported):
    children = [
        entry(
            f"https://b.test/{i:040}.png",
            200,
            mime="image/png",
            size=500,
            initiator="https://b.test/x.js",
        )
        for i in range(9)
    ]
    recording = imported(
        entry("https://a.test/", 0, size=9_000),
        entry(
            "https://b.test/x.js", 30, mime="text/javascript", size=40, initiator="https://a.test/"
        ),
        *children,
    )
    assert len(sent(recording, "https://b.test/x.js").wire) == 40
    document = sent(recording, "https://a.test/")
    assert len(document.wire) == 9_000
    assert all(c["request"]["url"] in document.body.decode() for c in children)


def test_a_document_too_short_for_its_markup_grows_and_says_so(imported):
    recording = imported(entry("https://a.test/", 0, size=100), *SITE[1:])
    assert len(sent(recording, "https://a.test/").wire) > 100
    assert any("bytes long and not 100" in c for c in recording.changes)


def test_pictures_and_fonts_are_whole_and_keep_their_format(imported):
    sizes = {"image/jpeg": 24_000, "image/png": 5_000, "image/gif": 43, "image/webp": 9_001}
    recording = imported(
        entry("https://a.test/", 0, size=6_000),
        *(
            entry(f"https://a.test/{mime[6:]}", 20, mime=mime, size=size)
            for mime, size in sizes.items()
        ),
        entry("https://a.test/f", 30, mime="font/woff2", size=20_001),
    )
    for mime, size in sizes.items():
        wire = sent(recording, f"https://a.test/{mime[6:]}").wire
        assert len(wire) == size
        with Image.open(io.BytesIO(wire)) as image:
            image.load()
            assert f"image/{image.format.lower()}" == mime
    font = sent(recording, "https://a.test/f").wire
    assert (font[:4], len(font)) == (b"wOF2", 20_001)
    assert int.from_bytes(font[8:12], "big") == 20_001


def test_made_up_bodies_do_not_compress(imported):
    recording = imported(*SITE)
    for answer in recording.answers:
        if len(answer.wire) >= 20_000:
            assert len(zlib.compress(answer.wire, 9)) > 0.7 * len(answer.wire)


def test_answers_for_other_hosts_allow_it(imported):
    recording = imported(*SITE)
    assert all(dict(a.headers)["access-control-allow-origin"] == "*" for a in recording.answers)


def test_what_would_stop_the_page_from_loading_is_not_sent_again(imported):
    hostile = {
        "content-security-policy": "default-src 'none'",
        "x-frame-options": "DENY",
        "set-cookie": "id=1",
        "link": "<https://z.test/x.js>; rel=preload; as=script",
    }
    recording = imported(
        entry("https://a.test/", 0, size=6_000, headers=hostile | {"x-own": "kept"})
    )
    names = {n for n, _ in recording.answers[0].headers}
    assert "x-own" in names
    assert not names & set(hostile)


def test_entries_after_the_load_event_are_left_out_and_named(imported):
    late = entry("https://late.test/beacon", 900, size=50, initiator="https://a.test/")
    recording = imported(*SITE, late, load_ms=800)
    assert "https://late.test/beacon" not in [a.url for a in recording.answers]
    assert any("1 requests left out" in c and "late.test/beacon" in c for c in recording.changes)
    kept = imported(*SITE, late, load_ms=None)
    assert "https://late.test/beacon" in [a.url for a in kept.answers]


def test_an_answer_from_a_cache_is_fetched_by_its_content_length_and_named(imported):
    cached = entry(
        "https://a.test/c.js",
        40,
        mime="text/javascript",
        headers={"content-length": "2000"},
        initiator="https://a.test/",
    )
    cached["response"] |= {"_transferSize": 0, "headersSize": -1}
    cached["response"]["content"]["size"] = 7_000
    recording = imported(SITE[0], cached)
    assert len(sent(recording, "https://a.test/c.js").wire) == 2_000
    assert any("1 of 2 answers came from a cache" in c for c in recording.changes)


@pytest.mark.parametrize(
    ("response", "size"),
    [
        ({"bodySize": 500, "headersSize": 90, "_transferSize": 590}, 500),
        ({"bodySize": 590, "headersSize": -1, "_transferSize": 590}, 480),
        ({"bodySize": -1, "headersSize": -1, "_transferSize": 590}, 480),
        ({"bodySize": 200, "headersSize": -1}, 200),
    ],
)
def test_the_field_that_says_the_wire_size_best_is_used(imported, response, size):
    item = entry("https://a.test/x", 10, mime="image/png", headers={"content-length": "480"})
    item["response"] |= response
    item["response"]["content"]["size"] = 5_000
    assert len(sent(imported(SITE[0], item), "https://a.test/x").wire) == size


def test_http_is_served_as_https_and_a_redirect_to_itself_is_left_out(imported):
    recording = imported(
        entry("http://a.test/", 0, status=301, location="https://a.test/"),
        entry("https://a.test/", 40, size=6_000),
        entry("http://b.test/1.png", 80, mime="image/png", size=700, referer="https://a.test/"),
    )
    assert [a.url for a in recording.answers] == ["https://a.test/", "https://b.test/1.png"]
    assert any("2 of 3 URLs were http://" in c for c in recording.changes)


def test_one_page_of_many_is_chosen_by_number_id_or_title(tmp_path):
    file = tmp_path / "two.har"
    file.write_bytes(
        har(
            entry("https://a.test/", 0, size=6_000),
            entry("https://b.test/", 9_000, size=6_000, page="p2"),
            load_ms=None,
            pages=2,
        )
    )
    assert resolve(str(file), tmp_path).url == "https://a.test/"
    for part in ("2", "p2", "page 2"):
        assert resolve(f"{file}#{part}", tmp_path).url == "https://b.test/"
    with pytest.raises(PageError, match=r"no page '3'; it holds #1 https://a.test/ \(page 1\), #2"):
        resolve(f"{file}#3", tmp_path)


def test_bodies_are_taken_and_compressed_again(imported):
    recording = imported(*WITH_BODIES)
    document, pixel = recording.answers
    assert document.coding == "gzip"
    assert document.body == WITH_BODIES[0]["response"]["content"]["text"].encode()
    assert len(pixel.wire) == 43
    assert any("1 bodies that the HAR lacks are made up" in c for c in recording.changes)


@pytest.mark.parametrize("name", ["site.har.zst", "site.har.gz", "site.har.zip", "site.har"])
def test_every_container_is_read(tmp_path, name):
    (tmp_path / name).write_bytes(SEEDS[name])
    page = resolve(str(tmp_path / name), tmp_path / "cache")
    assert (page.name, page.url) == ("site", "https://a.test/")


def test_a_page_file_is_told_from_another_programs_archive(tmp_path):
    (tmp_path / "other.har.zip").write_bytes(playwright())
    page = resolve(str(tmp_path / "other.har.zip"), tmp_path / "cache")
    assert page.path.parent == tmp_path / "cache"
    assert resolve(str(page.path), tmp_path / "cache") == page


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"", "site.har is not a HAR: .*export it again"),
        (b"[" * 100_000, "site.har is not a HAR"),
        (b'{"log": {}}', "site.har is not a HAR: .*entries"),
        (har(), "it has no entries"),
        (har(SITE[0]).replace(b'"GET"', b"7"), "it holds no document, only 1 fetch"),
    ],
)
def test_a_broken_har_is_refused_in_one_sentence_with_file_and_place(imported, data, complaint):
    with pytest.raises(PageError, match=complaint) as refused:
        imported(data=data)
    assert "\n" not in str(refused.value)


def test_an_archive_that_unpacks_without_end_is_refused(imported):
    bomb = zstd.compress(b" " * 20_000_000)
    with pytest.raises(
        PageError, match=r"site\.har\.zst: .* factor of more than 200; .*--max-ratio"
    ):
        imported(data=bomb, name="site.har.zst")


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.floats()
    | st.integers()
    | st.text(max_size=9)
    | st.sampled_from(["https://a.test/", "text/html", "p1", "302", "base64"]),
    lambda inside: (
        st.lists(inside, max_size=3) | st.dictionaries(st.text(max_size=5), inside, max_size=3)
    ),
    max_leaves=6,
)
PLACES = [
    (),
    ("entries",),
    ("pages",),
    ("pages", 0),
    ("pages", 0, "pageTimings"),
    ("entries", 0),
    *(
        ("entries", i, "request", key)
        for i in (0, 3)
        for key in ("url", "method", "headers", "bodySize")
    ),
    *(
        ("entries", i, "response", key)
        for i in (0, 5)
        for key in (
            "status",
            "headers",
            "content",
            "redirectURL",
            "bodySize",
            "headersSize",
            "_transferSize",
        )
    ),
    *(("entries", 1, key) for key in ("time", "startedDateTime", "pageref", "_initiator")),
]


@settings(max_examples=40)
@given(place=st.sampled_from(PLACES), value=JSON)
def test_any_value_in_any_place_is_imported_or_refused(tmp_path_factory, place, value):
    tree = json.loads(har(*SITE))
    at = tree
    for key in ("log", *place)[:-1]:
        at = at[key]
    at[("log", *place)[-1]] = value
    folder = tmp_path_factory.mktemp("har")
    (folder / "x.har").write_text(json.dumps(tree))
    said = None
    try:
        assert import_page(folder / "x.har", folder / "x.har.zip").resources
    except InputError as error:
        said = str(error)
    assert said is None or ("x.har" in said and "\n" not in said)


def test_the_pixel_is_a_picture():
    with Image.open(io.BytesIO(PIXEL)) as image:
        assert image.size == (1, 1)


def test_a_page_of_a_thousand_requests_and_a_hundred_hosts(tmp_path, imported):
    rows = [
        entry(
            f"https://h{i % 100}.test/{i}.png",
            30 + i,
            mime="image/png",
            size=900,
            initiator="https://a.test/" if i % 3 else f"https://h{(i - 1) % 100}.test/{i - 1}.png",
        )
        for i in range(1_000)
    ]
    recording = imported(entry("https://a.test/", 0, size=60_000), *rows)
    page = write_page(tmp_path / "big.har.zip", recording)
    assert (len(page.resources), len(page.hosts)) == (1_001, 101)
    assert page.body_bytes == 60_000 + 900_000
