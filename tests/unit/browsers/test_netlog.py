"""Reading what Chromium's network service wrote: redirects, codings, failures, damage."""

import base64
import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dragstrip.browsers.netlog import NetLogError, read_netlog

NAMES = (
    "URL_REQUEST_START_JOB REQUEST_ALIVE FAILED CANCELLED HTTP_TRANSACTION_SEND_REQUEST "
    "HTTP_TRANSACTION_HTTP2_SEND_REQUEST_HEADERS HTTP_TRANSACTION_READ_RESPONSE_HEADERS "
    "URL_REQUEST_FILTERS_SET URL_REQUEST_JOB_BYTES_READ URL_REQUEST_JOB_FILTERED_BYTES_READ "
    "HTTP_TRANSACTION_READ_EARLY_HINTS_RESPONSE_HEADERS HTTP_STREAM_REQUEST_BOUND_TO_JOB "
    "HTTP2_SESSION_SEND_HEADERS HTTP2_SESSION_RECV_HEADERS"
).split()
TYPES = {name: number for number, name in enumerate(NAMES)}
HEAD = {
    "constants": {
        "logEventTypes": TYPES,
        "netError": {"ERR_FAILED": -2},
        "timeTickOffset": 1_000_000,
    }
}


def event(name, source=1, phase=0, at=0, **params):
    return {
        "source": {"id": source, "type": 1},
        "time": str(at),
        "type": TYPES[name],
        "phase": phase,
        "params": params,
    }


def data(name, body, **more):
    return event(name, bytes=base64.b64encode(body).decode(), byte_count=len(body), **more)


def start(url, **more):
    return event("URL_REQUEST_START_JOB", phase=1, url=url, method="GET", **more)


def headers(*lines, **more):
    return event("HTTP_TRANSACTION_READ_RESPONSE_HEADERS", headers=list(lines), **more)


def written(tmp_path, events):
    lines = [json.dumps(HEAD)[:-1] + ",", '"events": [', *(json.dumps(e) + "," for e in events)]
    log = tmp_path / "log.json"
    log.write_text("\n".join([*lines, '],"polledData":{}}']) + "\n")
    return log


def test_a_redirect_and_its_goal_are_two_answers_of_one_source(tmp_path):
    log = written(
        tmp_path,
        [
            start("https://a.test/", at=5),
            event("HTTP_TRANSACTION_HTTP2_SEND_REQUEST_HEADERS", headers=[":path: /", "a: b: c"]),
            event("HTTP_TRANSACTION_SEND_REQUEST", phase=2, at=7),
            headers("HTTP/1.1 302", "location: /b", at=9),
            start("https://a.test/b", at=10),
            headers("HTTP/1.1 200 OK", "x: 1", "x: 2", "empty:", at=12),
            data("URL_REQUEST_JOB_FILTERED_BYTES_READ", b"one", at=13),
            data("URL_REQUEST_JOB_FILTERED_BYTES_READ", b"two", at=14),
            event("REQUEST_ALIVE", phase=2, at=15),
        ],
    )
    moved, goal = read_netlog(log, tmp_path)
    assert (moved.url, moved.status_line) == ("https://a.test/", "HTTP/1.1 302")
    assert moved.request_headers == (("a", "b: c"),)
    assert (moved.started_ms, moved.sent_ms, moved.answered_ms) == (1000005, 1000007, 1000009)
    assert not moved.body.exists()
    assert goal.headers == (("x", "1"), ("x", "2"), ("empty", ""))
    assert goal.body.read_bytes() == b"onetwo"
    assert (goal.ended_ms, goal.error) == (1000015, "")


@pytest.mark.parametrize("read", ["alone", "with the answer"])
def test_a_103_answer_over_http2_counts_even_if_read_together_with_the_final_one(tmp_path, read):
    link = "link: </a.css>; rel=preload; as=style"
    acted_on = event(
        "HTTP_TRANSACTION_READ_EARLY_HINTS_RESPONSE_HEADERS", headers=["HTTP/1.1 103", link]
    )
    log = written(
        tmp_path,
        [
            start("https://a.test/"),
            event("HTTP_STREAM_REQUEST_BOUND_TO_JOB", source_dependency={"id": 7}),
            event("HTTP2_SESSION_SEND_HEADERS", 2, stream_id=1, source_dependency={"id": 7}),
            event("HTTP2_SESSION_RECV_HEADERS", 2, stream_id=1, headers=[":status: 103", link]),
            event(
                "HTTP2_SESSION_RECV_HEADERS", 2, stream_id=3, headers=[":status: 103", "link: x"]
            ),
            *([acted_on] if read == "alone" else []),
            headers("HTTP/1.1 200", "content-type: text/html"),
        ],
    )
    (document,) = read_netlog(log, tmp_path)
    assert document.early_hints == ("</a.css>; rel=preload; as=style",)
    assert document.status_line == "HTTP/1.1 200"


def test_a_103_answer_over_http1_is_what_the_request_read(tmp_path):
    name = "HTTP_TRANSACTION_READ_EARLY_HINTS_RESPONSE_HEADERS"
    seen = event(name, headers=["HTTP/1.1 103 Early Hints", "Link: </a.js>; rel=preload"])
    (document,) = read_netlog(written(tmp_path, [start("https://a.test/"), seen]), tmp_path)
    assert document.early_hints == ("</a.js>; rel=preload",)


def test_of_a_coded_body_the_bytes_below_the_coding_count(tmp_path):
    log = written(
        tmp_path,
        [
            start("https://a.test/"),
            headers("HTTP/1.1 200", "content-encoding: gzip"),
            event("URL_REQUEST_FILTERS_SET", filters="GZIP"),
            data("URL_REQUEST_JOB_BYTES_READ", b"wire"),
            data("URL_REQUEST_JOB_FILTERED_BYTES_READ", b"decoded"),
        ],
    )
    assert read_netlog(log, tmp_path)[0].body.read_bytes() == b"wire"


def test_failures_have_names_and_data_urls_are_no_requests(tmp_path):
    log = written(
        tmp_path,
        [
            start("https://a.test/", source=1),
            event("FAILED", source=1, net_error=-2),
            start("https://b.test/", source=2),
            event("CANCELLED", source=2),
            start("data:text/plain,x", source=3),
        ],
    )
    assert [(r.url, r.error) for r in read_netlog(log, tmp_path)] == [
        ("https://a.test/", "ERR_FAILED"),
        ("https://b.test/", "ERR_ABORTED"),
    ]


@example(cut=24, junk=b'\x80"')
@given(cut=st.integers(0, 2000), junk=st.binary(max_size=20))
def test_a_log_that_breaks_off_is_read_as_far_as_it_goes(tmp_path_factory, cut, junk):
    folder = tmp_path_factory.mktemp("log")
    events = [start(f"https://a.test/{i}", source=i) for i in range(5)]
    log = written(folder, events)
    whole = log.read_bytes()
    head = whole.index(b"\n") + 1
    kept = whole[: max(head, len(whole) - cut)]
    log.write_bytes(kept + junk)
    read = read_netlog(log, folder)
    certain = kept.count(b'"method"') - 1
    assert [r.url for r in read][:certain] == [f"https://a.test/{i}" for i in range(certain)]


def test_what_is_no_netlog_is_refused(tmp_path):
    (tmp_path / "x").write_text("<html>\n")
    with pytest.raises(NetLogError, match="first line"):
        read_netlog(tmp_path / "x", tmp_path)
