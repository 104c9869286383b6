"""The servers with SPDY answer what the origin answers, and log what happened; over HTTP/1.1, which
a client without a browser speaks."""

import gzip
import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from dragstrip.pages.format.archive import write_page
from dragstrip.pages.format.recording import Recorded, Recording
from dragstrip.study.presets import find_stack
from dragstrip.testbed.errors import TestbedError
from dragstrip.testbed.legacy.catalogue import catalogue
from dragstrip.testbed.servers.site import addresses_of
from dragstrip.testbed.testbed import Testbed
from dragstrip.testbed.testbed import testbed as open_testbed

HOST = "a.test"
SERVERS = {"h1-chromium53": "spdy-origin", "h1-chromium53-netty": "netty-origin"}
"""Stack to item of the catalogue."""
OF_CONNECTION = ("connection", "keep-alive", "transfer-encoding", "date")
_ASK = """
import http.client, json, socket, ssl, sys
address, host, requests = json.loads(sys.argv[1])
context = ssl.create_default_context()
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
context.set_alpn_protocols(["http/1.1"])
session = None
class To(http.client.HTTPConnection):
    def connect(self):
        tcp = socket.create_connection((address, 443), timeout=20)
        self.sock = context.wrap_socket(tcp, server_hostname=host, session=session)
connection = To(host)
for method, target, headers, body in requests:
    if method == "RECONNECT":
        session = connection.sock.session
        connection.close()
        continue
    connection.request(method, target, body, headers)
    answer = connection.getresponse()
    print(json.dumps([answer.status, sorted(answer.getheaders()), answer.read().hex()]))
"""

Request = tuple[str, str, dict[str, str], str | None]
GET: Request = ("GET", "/", {}, None)
REQUESTS: list[Request] = [
    GET,
    ("GET", "/large", {}, None),
    ("HEAD", "/large", {}, None),
    ("GET", "/coded", {"Accept-Encoding": "gzip"}, None),
    ("GET", "/?other=query", {}, None),
    ("GET", "/absent", {}, None),
    ("GET", "/large", {"Range": "bytes=5-9"}, None),
    ("GET", "/", {"If-None-Match": '"1"'}, None),
    ("POST", "/posted", {"Content-Type": "text/plain"}, "a body" * 100),
    ("OPTIONS", "/", {"Origin": "https://b.test", "Access-Control-Request-Method": "PUT"}, None),
    ("GET", "/empty", {}, None),
    ("GET", "/cookies", {"Cookie": "long=" + "x" * 12_000}, None),
]


LARGE = bytes(range(256)) * 4000


def recorded(target: str, wire: bytes = b"0123456789", **more: Any) -> Recorded:
    headers = (("etag", '"1"'), ("content-type", "text/plain"), ("set-cookie", "a=1"))
    extra = more.pop("headers", ())
    return Recorded(url=f"https://{HOST}{target}", headers=(*headers, *extra), wire=wire, **more)


PAGE = Recording(
    name="page",
    url=f"https://{HOST}/",
    source="made up",
    answers=(
        recorded("/"),
        recorded("/large", LARGE),
        recorded("/coded", gzip.compress(LARGE), headers=(("content-encoding", "gzip"),)),
        recorded("/posted", method="POST"),
        recorded("/empty", b"", status=204),
        recorded("/cookies", headers=(("set-cookie", "b=2"),)),
    ),
)


@pytest.fixture(scope="module")
def bed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Testbed]:
    with open_testbed([HOST]) as made:
        made.origin.serve(write_page(tmp_path_factory.mktemp("page") / "page.har.zip", PAGE))
        yield made


@pytest.fixture(params=SERVERS)
def stack(request, bed):
    item = catalogue()[SERVERS[request.param]]
    if not item.installed:
        pytest.skip(f"not installed: dragstrip legacy install {item.group}")
    bed.tune(find_stack(request.param))
    bed.origin.log()
    yield find_stack(request.param)
    bed.origin.close()


def asked(bed: Testbed, address: str, *requests: Request) -> list[Any]:
    wish = json.dumps([address, HOST, requests])
    said = bed.spaces.run("client", sys.executable, "-I", "-c", _ASK, wish)
    return [json.loads(line) for line in said.splitlines()]


def address(bed: Testbed, stack: Any) -> str:
    return addresses_of(stack.serving, bed.addresses)[HOST]


def carried(answer: Any) -> object:
    status, headers, body = answer
    return status, [(k.lower(), v) for k, v in headers if k.lower() not in OF_CONNECTION], body


def test_it_answers_what_the_origin_answers(bed, stack):
    theirs = asked(bed, address(bed, stack), *REQUESTS)
    ours = asked(bed, bed.addresses[HOST], *REQUESTS)
    assert [answer[0] for answer in theirs] == [*[200] * 5, 404, 206, 304, 200, 204, 204, 200]
    for request, mine, other in zip(REQUESTS, ours, theirs, strict=True):
        assert carried(other) == carried(mine), request[:3]


def test_its_log_is_of_what_it_served(bed, stack):
    asked(bed, address(bed, stack), *REQUESTS)
    bed.origin.close()
    log = bed.origin.log()
    assert [(s.method, s.url) for s in log.requests] == [
        (method, f"https://{HOST}{target}") for method, target, *_ in REQUESTS
    ]
    assert [s.match for s in log.requests].count("miss") == 1
    assert {s.body_bytes for s in log.requests if s.method == "GET"} >= {10, len(LARGE), 5, 0}
    assert all(s.end_us >= s.t_us for s in log.requests)
    [connection] = log.connections
    assert (connection.protocol, connection.host, connection.error) == ("h1", HOST, "")
    assert {s.client_port for s in log.requests} == {connection.client_port}


def test_tickets_outlive_the_closing_of_connections_and_the_log_says_who_resumed(bed, stack):
    again: Request = ("RECONNECT", "", {}, None)
    asked(bed, address(bed, stack), GET, again, GET)
    bed.origin.close()
    assert [c.resumed for c in bed.origin.log().connections] == [False, True]


def test_who_leaves_before_the_handshake_is_logged(bed, stack):
    target = address(bed, stack)
    bed.spaces.run("client", "bash", "-c", f"exec 3<>/dev/tcp/{target}/443; echo hello >&3")
    bed.origin.close()
    [connection] = bed.origin.log().connections
    assert connection.error
    assert connection.protocol is connection.host is None


def test_it_goes_on_after_an_error(bed, stack):
    process = bed.origin._started[stack.server]._process
    for command, fields, complaint in (
        ("fly", {}, "command not understood"),
        ("tune", {"protocol": "h3", "resumption": True}, "protocol is one of"),
    ):
        with pytest.raises(TestbedError, match=complaint):
            process.ask(command, dict[str, Any], **fields)
    assert process.ask("close", dict[str, Any])["tcp"] == 0
    assert asked(bed, address(bed, stack), GET)[0][0] == 200


def test_warming_up_leaves_no_trace(bed, stack):
    log = bed.origin.log()
    assert log.requests == log.connections == ()
