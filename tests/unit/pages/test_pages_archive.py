"""The page file: what is written is what is loaded, and nothing damaged is loaded at all."""

import json
import zipfile
from datetime import UTC
from pathlib import Path

import brotli
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from dragstrip.pages.format.archive import load_page, write_page
from dragstrip.pages.format.recording import PageError, Recorded, Recording, replaying

HTML = (("content-type", "text/html; charset=utf-8"),)
START = Recorded(url="https://www.a.test/", headers=HTML, wire=b"<p>hello")

hosts = st.from_regex(r"[a-z][a-z0-9]{0,8}\.test", fullmatch=True)
tokens = st.from_regex(r"[a-z][a-z0-9-]{0,12}", fullmatch=True)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
paths = st.from_regex(r"/[a-zA-Z0-9/_.~%-]{0,20}(\?[a-z=&0-9]{0,20})?", fullmatch=True)


@st.composite
def recorded(draw: st.DrawFn) -> Recorded:
    body = draw(st.binary(max_size=300))
    coding = draw(st.sampled_from(["", "br"]))
    headers = dict(draw(st.lists(st.tuples(tokens, texts), max_size=4)))
    headers["content-encoding"] = coding
    return Recorded(
        url=f"https://{draw(hosts)}{draw(paths)}",
        method=draw(st.sampled_from(["GET", "POST", "HEAD"])),
        status=draw(st.integers(200, 599)),
        headers=replaying(headers.items()),
        request_headers=tuple(draw(st.lists(st.tuples(tokens, texts), max_size=3))),
        wire=brotli.compress(body) if coding and body else body,
        started=draw(st.datetimes(timezones=st.just(UTC))),
        time_ms=draw(st.floats(0, 1e6)),
    )


def page_of(*answers: Recorded, changes: tuple[str, ...] = ()) -> Recording:
    return Recording(name="a", url=START.url, source="a test", changes=changes, answers=answers)


@settings(max_examples=50)
@given(answers=st.lists(recorded(), max_size=6), changes=st.lists(texts, max_size=3))
def test_what_is_written_is_loaded(tmp_path_factory, answers, changes):
    path = tmp_path_factory.mktemp("round") / "a.har.zip"
    page = write_page(path, page_of(START, *answers, changes=tuple(changes)))

    assert page == load_page(path)
    assert page.changes == tuple(changes)
    assert [(r.url, r.method, r.status, r.body_bytes) for r in page.resources] == [
        (a.url, a.method, a.status, len(a.wire)) for a in (START, *answers)
    ]
    with zipfile.ZipFile(path) as archive:
        entries = json.loads(archive.read("har.har"))["log"]["entries"]
        for answer, entry in zip((START, *answers), entries, strict=True):
            response = entry["response"]
            assert [(h["name"], h["value"]) for h in response["headers"]] == [*answer.headers]
            body = response["content"].get("_file")
            wire = response["_dragstrip"].get("wire_file", body)
            assert (archive.read(body) if body else b"") == answer.body
            assert (archive.read(wire) if wire else b"") == answer.wire


def test_it_is_a_har_1_2_with_every_mandatory_field(tmp_path):
    write_page(tmp_path / "a.har.zip", page_of(START))
    with zipfile.ZipFile(tmp_path / "a.har.zip") as archive:
        assert archive.namelist()[0] == "har.har"
        log = json.loads(archive.read("har.har"))["log"]
    assert log["version"] == "1.2"
    assert log.keys() >= {"version", "creator", "pages", "entries"}
    assert log["creator"].keys() >= {"name", "version"}
    assert log["pages"][0].keys() >= {"startedDateTime", "id", "title", "pageTimings"}
    (entry,) = log["entries"]
    assert entry["pageref"] == log["pages"][0]["id"]
    assert entry.keys() >= {"startedDateTime", "time", "request", "response", "cache", "timings"}
    assert entry["timings"].keys() >= {"send", "wait", "receive"}
    shared = {"httpVersion", "cookies", "headers", "headersSize", "bodySize"}
    assert entry["request"].keys() >= shared | {"method", "url", "queryString"}
    assert entry["response"].keys() >= shared | {"status", "statusText", "content", "redirectURL"}
    assert entry["response"]["content"].keys() >= {"size", "mimeType"}


def test_equal_recordings_give_equal_bytes_and_equal_bodies_are_stored_once(tmp_path):
    twin = msgspec.structs.replace(START, url="https://b.a.test/twin")
    one = write_page(tmp_path / "one.har.zip", page_of(START, twin))
    two = write_page(tmp_path / "two.har.zip", page_of(START, twin))
    assert one.digest == two.digest
    with zipfile.ZipFile(one.path) as archive:
        assert len(archive.namelist()) == 2


def test_a_failed_write_leaves_nothing_and_keeps_what_was_there(tmp_path):
    path = tmp_path / "a.har.zip"
    before = write_page(path, page_of(START)).digest
    no_name = msgspec.structs.replace(START, url="https://10.0.0.1/")
    with pytest.raises(PageError, match=r"entries\[1\].request.url 'https://10.0.0.1/'.*IP"):
        write_page(path, page_of(START, no_name))
    assert [file.name for file in tmp_path.iterdir()] == ["a.har.zip"]
    assert load_page(path).digest == before


def _rewritten(path: Path, change) -> Path:
    """The archive with its HAR changed, as another program might have written it."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    har = json.loads(members.pop("har.har"))
    change(har["log"])
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("har.har", json.dumps(har))
        for name, body in members.items():
            archive.writestr(name, body)
    return path


def _response(log):
    return log["entries"][0]["response"]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda log: log["_dragstrip"].update(format=2), r"format 2 at log\._dragstrip"),
        (lambda log: log["_dragstrip"].update(url="https://x.test/"), "no GET entry answers"),
        (lambda log: log.pop("_dragstrip"), r"`_dragstrip` - at `\$\.log`"),
        (lambda log: log["entries"][0]["request"].pop("url"), r"`url` - at `\$\.log\.entries\[0\]"),
        (
            lambda log: log["entries"][0]["request"].update(url="https://WWW.a.test/"),
            r"entries\[0\]\.request\.url .* should be https://www\.a\.test/",
        ),
        (
            lambda log: log["entries"][0]["request"].update(url="https://www.a.test/#x"),
            r"entries\[0\]\.request\.url",
        ),
        (lambda log: _response(log).update(bodySize=7), r"entries\[0\].*size is not 7"),
        (lambda log: _response(log)["content"].update(size=7), r"entries\[0\].*size is not 7"),
        (lambda log: _response(log)["content"].update(_file="x"), r"no member 'x'"),
        (lambda log: _response(log).update(status=0), "status 0"),
        (
            lambda log: _response(log)["headers"].append({"name": "Alt-Svc", "value": "h3"}),
            "describe a connection: Alt-Svc",
        ),
        (
            lambda log: _response(log)["headers"].append(
                {"name": "Content-Encoding", "value": "gzip"}
            ),
            "wire_file and content-encoding 'gzip' do not agree",
        ),
    ],
)
def test_what_breaks_the_format_is_refused_by_name(tmp_path, change, complaint):
    write_page(tmp_path / "a.har.zip", page_of(START))
    path = _rewritten(tmp_path / "a.har.zip", change)
    with pytest.raises(PageError, match=complaint) as refused:
        load_page(path)
    assert str(path) in str(refused.value)


def test_a_body_that_is_not_what_its_name_says_is_refused(tmp_path):
    path = write_page(tmp_path / "a.har.zip", page_of(START)).path
    data = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        har, name = archive.read("har.har"), archive.namelist()[1]
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("har.har", har)
        archive.writestr(name, b"<p>HELLO")
    assert path.read_bytes() != data
    with pytest.raises(PageError, match="not named by the SHA-256"):
        load_page(path)


def test_an_unreadable_file_is_a_page_error(tmp_path):
    with pytest.raises(PageError, match="No such file"):
        load_page(tmp_path / "none.har.zip")
    with pytest.raises(PageError, match="cannot be read"):
        load_page(tmp_path)


@pytest.mark.parametrize("packing", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_member_that_does_not_unpack_is_a_page_error(tmp_path, packing):
    path = tmp_path / "a.har.zip"
    with zipfile.ZipFile(path, "w", packing) as archive:
        archive.writestr("har.har", "{}" * 500)
        at = archive.infolist()[0].header_offset + 60
    data = bytearray(path.read_bytes())
    data[at : at + 20] = b"\xff" * 20
    path.write_bytes(data)
    with pytest.raises(PageError, match=r"a\.har\.zip"):
        load_page(path)


def test_a_name_may_be_as_long_as_the_file_system_allows(tmp_path):
    path = tmp_path / f"{'n' * 247}.har.zip"
    assert write_page(path, page_of(START)).path == path


@given(data=st.data())
def test_a_damaged_page_file_never_loads_as_something_else(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("damaged")
    good = write_page(folder / "a.har.zip", page_of(START))
    damaged = bytearray(good.path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    del damaged[data.draw(st.integers(len(damaged) // 2, len(damaged))) :]
    good.path.write_bytes(damaged)
    try:
        page = load_page(good.path)
    except PageError:
        return
    # What zip does not protect (times, attributes) may differ; the bodies may not.
    assert [r.body_bytes for r in page.resources] == [len(START.wire)]


@pytest.mark.parametrize(
    ("versions", "spoken"),
    [
        (("HTTP/1.1",), {"www.a.test": "h1"}),
        (("h3", "HTTP/2.0", "h3"), {"www.a.test": "h3"}),
        (("http/2.0", "h3"), {"www.a.test": "h2"}),
        (("http/2+quic/43",), {"www.a.test": "h3"}),
        (("", "unknown"), {}),
    ],
)
def test_a_host_spoke_what_most_of_its_answers_were_recorded_in(tmp_path, versions, spoken):
    answers = [
        Recorded(url=f"https://www.a.test/{i or ''}", headers=HTML, wire=b"x", http_version=v)
        for i, v in enumerate(versions)
    ]
    made = Recording(name="a", url=START.url, source="test", answers=tuple(answers))
    assert load_page(write_page(tmp_path / "a.har.zip", made).path).spoken == spoken


def test_what_http_spoke_is_no_choice(tmp_path):
    fresh = structs.replace(START, http_version="h2")
    plain = Recorded(url="http://b.test/x", headers=HTML, wire=b"x", http_version="HTTP/1.1")
    made = Recording(name="a", url=START.url, source="test", answers=(fresh, plain))
    assert write_page(tmp_path / "a.har.zip", made).spoken == {"www.a.test": "h2"}
