"""The server for gQUIC answers like the origin: one recording, the same requests, both asked."""

import json
import socket
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dragstrip.testbed.errors import TestbedError
from dragstrip.testbed.legacy.catalogue import catalogue
from dragstrip.testbed.process import JsonProcess, json_process
from dragstrip.testbed.programs import program

ITEM = catalogue()["gquic-origin"]
pytestmark = pytest.mark.skipif(
    not ITEM.installed, reason="not installed: dragstrip legacy install gquic"
)
HOST = "a.test"
OLD, OLDER = "Tue, 06 Feb 2018 05:05:23 GMT", "Mon, 05 Feb 2018 05:05:23 GMT"


class Socket(HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__(HOST)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(20)
        self.sock.connect(str(self._path))


class Pair:
    """Both servers, and what each answers."""

    def __init__(self, folder: Path, resources: ExitStack) -> None:
        self.folder = folder
        self.page = folder / "page.har.zip"
        argv = ["--port", "0", "--plain"]
        ca = ["--ca-out", str(folder / "ca.pem")]
        origin = [program("dragstrip-origin"), *ca, *argv, str(folder / "origin")]
        self.ours = resources.enter_context(json_process("origin", origin, folder / "o.err"))
        made = self.ours.ask("certificates", dict[str, Any], hosts=[HOST])
        (folder / "certificates.json").write_text(json.dumps(made))
        known = ["--certificates", str(folder / "certificates.json"), "--addresses", "127.0.0.1"]
        other = [str(ITEM.program), *known, *argv, str(folder / "other")]
        self.other = resources.enter_context(json_process("gquic-origin", other, folder / "g.err"))

    def serve(self, entries: list[dict[str, Any]]) -> None:
        page = {"format": 1, "name": "p", "url": f"https://{HOST}/"}
        with zipfile.ZipFile(self.page, "w") as archive:
            archive.writestr(
                "har.har", json.dumps({"log": {"_dragstrip": page, "entries": entries}})
            )
            archive.writestr("whole", "0123456789" * 5)
            archive.writestr("coded", "coded bytes")
        told = [p.ask("page", dict[str, Any], path=str(self.page)) for p in (self.ours, self.other)]
        told[0].pop("authority")  # the other is given its certificates
        assert told[0] == told[1]

    def asked(self, name: str, method: str, target: str, headers: dict[str, str]) -> object:
        connection = Socket(self.folder / name)
        connection.request(method, target, headers={"Accept-Encoding": "identity", **headers})
        answer = connection.getresponse()
        said = sorted((k.lower(), v) for k, v in answer.getheaders() if k.lower() not in HOP)
        body = answer.read()
        connection.close()
        return answer.status, said, body


HOP = ("connection", "transfer-encoding")
# Dates move with the clock, which may tick between the two answers.
MOVING = ("date", "expires", "last-modified")


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    with ExitStack() as resources:
        yield Pair(tmp_path_factory.mktemp("pair"), resources)


def entry(
    method: str, target: str, status: int, coded: bool, headers: dict[str, str]
) -> dict[str, Any]:
    encoded = {"content-encoding": "gzip"} if coded else {}
    listed = [{"name": k, "value": v} for k, v in (headers | encoded).items()]
    extra = {"wire_file": "coded"} if coded else {}
    return {
        "request": {"method": method, "url": f"https://{HOST}{target}"},
        "response": {
            "status": status,
            "headers": listed,
            "content": {"_file": "whole"},
            "_dragstrip": extra,
        },
    }


METHODS = st.sampled_from(["GET", "GET", "GET", "HEAD", "POST", "OPTIONS"])
TARGETS = st.from_regex(r"\A/[ab]?(\?[ab](=[12])?(&[ab]=[12])?|;[ab])?\Z")
RECORDED = st.fixed_dictionaries(
    {},
    optional={
        "etag": st.sampled_from(['"1"', 'W/"1"', '"2"']),
        "last-modified": st.sampled_from([OLD, OLDER]),
        "date": st.just(OLD),
        "expires": st.sampled_from([OLD, OLDER, "0"]),
        "age": st.sampled_from(["0", "7", "x"]),
        "content-range": st.sampled_from(["bytes 10-59/100", "bytes 0-49/*", "nonsense"]),
        "set-cookie": st.just("a=1\nb=2"),
        "Alt-Svc": st.just('quic=":443"'),
        "content-type": st.just("text/plain"),
    },
)
ENTRIES = st.lists(
    st.builds(
        entry, METHODS, TARGETS, st.sampled_from([200, 200, 204, 206, 301, 304]), st.booleans(),
        RECORDED,
    ),
    max_size=6,
)  # fmt: skip
REQUESTS = st.lists(
    st.tuples(
        METHODS,
        TARGETS,
        st.fixed_dictionaries(
            {},
            optional={
                "Range": st.sampled_from(
                    ["bytes=0-9", "bytes=20-", "bytes=-5", "bytes=-0", "bytes=90-", "bytes=0-1,4-5"]
                ),
                "If-Range": st.sampled_from(['"1"', OLD]),
                "If-None-Match": st.sampled_from(['"1"', '"2", W/"1"', "*"]),
                "If-Modified-Since": st.sampled_from([OLD, "Fri, 01 Jan 2100 00:00:00 GMT"]),
                "Accept-Encoding": st.sampled_from(["gzip", "gzip;q=0, br", "*", "br, GZIP"]),
                "Origin": st.just("https://b.test"),
                "Access-Control-Request-Method": st.just("PUT"),
                "Access-Control-Request-Headers": st.just("x-a"),
            },
        ),
    ),
    min_size=1,
    max_size=8,
)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ENTRIES, REQUESTS)
def test_same_recording_and_requests_same_answers(pair, entries, requests):
    pair.serve(entries)
    for request in requests:
        ours, other = (pair.asked(name, *request) for name in ("origin", "other"))
        assert _still(ours) == _still(other), request


def _still(answer: Any) -> object:
    """The answer without the last digits of moving dates, and without what Go's HTTP/1.1 drops of a
    304."""
    status, headers, body = answer
    kept = [(k, v) for k, v in headers if (status, k) != (304, "content-type")]
    return status, [(k, v[:16] if k in MOVING else v) for k, v in kept], body


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ({"cmd": "fly"}, "command not understood"),
        ({"cmd": "page", "path": "/nowhere.har.zip"}, "/nowhere.har.zip"),
        ({"cmd": "close", "strange": 1}, "unknown field"),
    ],
)
def test_it_goes_on_after_an_error(pair, line, complaint):
    process: JsonProcess = pair.other
    with pytest.raises(TestbedError, match=complaint):
        process.ask(line.pop("cmd"), dict[str, Any], **line)
    assert process.ask("close", dict[str, Any]) == {"ok": True, "tcp": 0, "quic": 0}
    assert process.ask("log", dict[str, Any])["requests"] == []
