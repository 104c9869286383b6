"""WebSockets of a HAR come into the page file, and out of it as they were."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from dragstrip.pages.coded import coded
from dragstrip.pages.format.archive import load_page, write_page
from dragstrip.pages.format.document_root import write_document_root
from dragstrip.pages.format.recording import Message, PageError, Recorded, RecordedSocket, Recording
from dragstrip.pages.graph.store import graph_of
from dragstrip.pages.importers.har_import import read_har
from dragstrip.pages.importers.scrub import scrub_socket
from dragstrip.pages.importers.wish import Wish
from recordings import entry, har

DOCUMENT = entry("https://a.test/", 0, size=500, text="<!doctype html><p>site")


def socket(url="wss://a.test/live", *, messages=(), at_ms=100, **more):
    made = entry(url, at_ms, mime="", size=0)
    made["response"]["status"] = 101
    timings = {"blocked": -1, "dns": 5, "connect": 10, "ssl": 8, "send": 0, "wait": 15}
    return made | {"_webSocketMessages": list(messages), "timings": timings, "time": 900, **more}


def said(kind, at_s, opcode=1, data="x"):
    return {"type": kind, "time": at_s, "opcode": opcode, "data": data}


def imported(tmp_path, *entries):
    file = tmp_path / "site.har"
    file.write_bytes(har(*entries))
    return read_har(file, "site", Wish(keep_secrets=True))


def start_s(recording):
    return recording.sockets[0].started.timestamp()


def test_a_socket_is_kept_with_its_messages_and_when_they_came(tmp_path):
    begun = imported(tmp_path, DOCUMENT, socket())
    first_s = start_s(begun)
    messages = [
        said("send", first_s + 0.05, data="hello"),
        said("receive", first_s + 0.08, data="wörld"),
        said("receive", first_s + 0.09, 2, "AAE="),
    ]
    recording = imported(tmp_path, DOCUMENT, socket(messages=messages))
    (kept,) = recording.sockets
    assert (kept.url, kept.open_ms) == ("wss://a.test/live", 30)
    assert [(m.sent, m.opcode, m.data) for m in kept.messages] == [
        (True, 1, "hello"),
        (False, 1, "wörld"),
        (False, 2, "AAE="),
    ]
    assert [m.at_ms for m in kept.messages] == pytest.approx([20, 50, 60], abs=0.01)
    assert len(recording.answers) == 1
    page = write_page(tmp_path / "p.har.zip", recording)
    (on_page,) = page.sockets
    assert (on_page.messages, on_page.message_bytes) == (2, 6 + 2)
    assert page.hosts == ("a.test",)


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("wss://push.test/live", "wss://push.test/live"),
        ("ws://a.test:8080/live", "wss://a.test:8080/live"),
        ("https://a.test/live", "wss://a.test/live"),  # as mitmproxy has it
        ("ws://localhost:3000/hmr", "wss://localhost.test:3000/hmr"),
    ],
)
def test_every_dialect_of_a_sockets_url_is_read(tmp_path, url, kept):
    recording = imported(tmp_path, DOCUMENT, socket(url))
    assert [s.url for s in recording.sockets] == [kept]
    assert kept.split("/")[2].partition(":")[0] in write_page(tmp_path / "p.zip", recording).hosts


def test_times_in_milliseconds_are_told_from_seconds(tmp_path):
    first_s = start_s(imported(tmp_path, DOCUMENT, socket()))
    messages = [said("receive", (first_s + 0.08) * 1000)]
    (kept,) = imported(tmp_path, DOCUMENT, socket(messages=messages)).sockets
    assert kept.messages[0].at_ms == pytest.approx(50, abs=0.01)


def test_a_socket_that_never_opened_is_left_out_by_name(tmp_path):
    failed = socket()
    failed["response"]["status"] = 0
    recording = imported(tmp_path, DOCUMENT, failed)
    assert recording.sockets == ()
    assert any("wss://a.test/live left out" in change for change in recording.changes)


def test_without_bodies_no_script_opens_a_socket(tmp_path):
    recording = imported(tmp_path, entry("https://a.test/", 0, size=500), socket())
    assert recording.sockets == ()
    assert any("nothing opens a WebSocket" in change for change in recording.changes)


@given(
    st.lists(
        st.fixed_dictionaries(
            {},
            optional={
                "type": st.sampled_from(["send", "receive"]) | st.none(),
                "time": st.floats(allow_nan=True) | st.text() | st.none(),
                "opcode": st.integers(-1, 20) | st.text(max_size=2),
                "data": st.text(max_size=9) | st.none(),
            },
        )
        | st.none()
        | st.integers(),
        max_size=4,
    )
    | st.text(max_size=3)
)
def test_messages_that_are_none_are_no_error(messages):
    from dragstrip.pages.importers.har_sockets import _messages

    for _, _, opcode, data in _messages(messages):
        assert opcode in (1, 2)
        assert data.encode().decode() == data


def page_of(*sockets):
    document = Recorded(
        url="https://a.test/", wire=b"<p>", headers=(("content-type", "text/html"),)
    )
    return Recording(
        name="t", url="https://a.test/", source="made up", answers=[document], sockets=sockets
    )


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (
            {"url": "wss://A.test/"},
            r"log\.entries\[1\]\.request\.url .* it should be wss://a\.test/",
        ),
        (
            {"messages": (Message(sent=False, at_ms=1, opcode=2, data="?"),)},
            r"log\.entries\[1\]\._webSocketMessages\[0\]\.data is not base64",
        ),
    ],
)
def test_a_wrong_socket_is_refused_with_its_place(tmp_path, wrong, why):
    socket = structs.replace(RecordedSocket(url="wss://a.test/"), **wrong)
    with pytest.raises(PageError, match=why):
        write_page(tmp_path / "p.har.zip", page_of(socket))


def test_what_is_written_is_what_chromium_writes(tmp_path):
    import zipfile

    messages = (Message(sent=False, at_ms=250, opcode=1, data="go"),)
    made = RecordedSocket(url="wss://a.test/live", open_ms=50, messages=messages)
    page = write_page(tmp_path / "p.har.zip", page_of(made))
    assert load_page(page.path).sockets == page.sockets
    with zipfile.ZipFile(page.path) as archive:
        (_, written) = json.loads(archive.read("har.har"))["log"]["entries"]
    assert written["_resourceType"] == "websocket"
    opened_s = written["_dragstrip"]["opened_s"]
    (message,) = written["_webSocketMessages"]
    assert message == {"type": "receive", "time": opened_s + 0.25, "opcode": 1, "data": "go"}


def test_what_the_page_said_is_a_secret():
    messages = (
        Message(sent=True, at_ms=1, opcode=1, data="my password"),
        Message(sent=False, at_ms=2, opcode=1, data="welcome"),
    )
    kept = scrub_socket(RecordedSocket(url="wss://a.test/?token=abc", messages=messages))
    assert kept.url == "wss://a.test/?token=xxx"
    assert [m.data for m in kept.messages] == ["", "welcome"]


def test_graph_coded_page_and_document_root_know_only_answers(tmp_path):
    page = write_page(tmp_path / "p.har.zip", page_of(RecordedSocket(url="wss://a.test/")))
    assert [node.url for node in graph_of(page).nodes] == ["https://a.test/"]
    assert coded(page, "gzip:6", tmp_path).sockets == page.sockets
    write_document_root(page, tmp_path / "root")
    files = [f for f in (tmp_path / "root").rglob("*") if f.is_file()]
    assert [f.name for f in files] == ["index.html"]
