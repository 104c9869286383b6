"""A foreign server's log becomes evidence: what it says, in order, and nothing lost or made up."""

import re

import msgspec
import pytest

import made
from dragstrip.model.servers import AccessLog, known
from dragstrip.testbed.errors import TestbedError
from dragstrip.testbed.servers.access_log import connections, read_lines, requests
from dragstrip.verdict.content_checks import UNANSWERED

CADDYS = known()["caddy"].log
assert CADDYS


def line(
    uri: str, ended: float, *, port: str = "4000", proto: str = "HTTP/2.0", sni: str = "a.test"
):
    return {
        "level": "info",
        "ts": ended,
        "msg": "handled request",
        "duration": 0.5,
        "status": 200,
        "size": 7,
        "request": {
            "remote_ip": "10.64.0.1",
            "remote_port": port,
            "proto": proto,
            "method": "GET",
            "host": "a.test",
            "uri": uri,
            "tls": {"resumed": True, "version": 772, "proto": "h2", "server_name": sni},
        },
    }


def write(path, *lines):
    path.write_bytes(b"".join(msgspec.json.encode(each) + b"\n" for each in lines))
    return path


def test_lines_come_in_order_of_time_and_once(tmp_path):
    log = write(tmp_path / "access.json", line("/b", 9.0), line("/a", 8.0))
    assert [each.url for each in read_lines(log, CADDYS)] == [
        "https://a.test/a",
        "https://a.test/b",
    ]
    assert read_lines(log, CADDYS) == []


def test_how_the_recording_answered_is_the_origins_word(tmp_path):
    log = write(tmp_path / "access.json", line("/1.js", 8.0), line("/alone", 9.0))
    seen = requests(
        read_lines(log, CADDYS), [made.served("https://a.test/1.js", "h1", match="query")]
    )
    assert [(s.match, s.protocol, s.t_us, s.end_us) for s in seen] == [
        ("query", "h2", 7_500_000, 8_000_000),
        ("own", "h2", 8_500_000, 9_000_000),
    ]


def test_a_connection_is_known_by_its_port(tmp_path):
    log = write(
        tmp_path / "access.json",
        line("/a", 8.0),
        line("/b", 8.1),
        line("/c", 8.2, port="4001", proto="HTTP/3.0", sni=""),
    )
    seen = connections(read_lines(log, CADDYS))
    assert [(c.id, c.protocol, c.host) for c in seen] == [
        (4000, "h2", "a.test"),
        (4001, "h3", "a.test"),
    ]
    assert all(c.transport is None for c in seen)


@pytest.mark.parametrize("wrong", [{"ts": "noon"}, line("/a", 8.0, proto="SPDY/3")])
def test_a_log_of_another_kind_is_an_error(tmp_path, wrong):
    with pytest.raises(TestbedError, match="access log"):
        read_lines(write(tmp_path / "access.json", wrong), CADDYS)


def nginxs(**other):
    said = {
        "ended": 9.125,
        "took": 0.025,
        "port": 4000,
        "protocol": "HTTP/2.0",
        "method": "GET",
        "host": "a.test",
        "path": "/a",
        "status": 200,
        "bytes": 7,
        "resumed": "r",
    }
    return said | other


def test_another_servers_words_are_understood(tmp_path):
    form = known()["nginx"].log
    fresh = nginxs(port=4001, resumed=".")
    [first, second] = read_lines(write(tmp_path / "access.log", nginxs(), fresh), form)
    assert (first.began_us, first.ended_us, first.size) == (9_100_000, 9_125_000, 7)
    assert (first.resumed, second.resumed) == (True, False)


@pytest.mark.parametrize(("server", "accepted"), [("quic-go", True), ("nginx", None)])
def test_a_log_may_say_that_the_clients_hello_was_encrypted(tmp_path, server, accepted):
    said = nginxs(began=9.1, ech=True)
    [line] = read_lines(write(tmp_path / "access.log", said), known()[server].log)
    [connection] = connections([line])
    assert connection.ech is accepted


def test_units_are_the_logs_own(tmp_path):
    form = known()["haproxy"].log
    said = nginxs(ended=9_125_000, took=25, resumed="1")
    del said["bytes"]
    [line] = read_lines(write(tmp_path / "access.log", said), form)
    assert (line.began_us, line.ended_us, line.resumed) == (9_100_000, 9_125_000, True)
    [seen] = requests([line], [made.served("https://a.test/a", "h1", body_bytes=11)])
    assert seen.body_bytes == 11, "what the origin gave it is known"


def test_a_log_may_say_when_a_request_began(tmp_path):
    said = nginxs(began="9.1", took=25)
    del said["ended"], said["resumed"]
    [line] = read_lines(write(tmp_path / "access.log", said), known()["envoy"].log)
    assert (line.began_us, line.ended_us) == (9_100_000, 9_125_000)


def test_a_coarse_clock_gives_way_to_the_origins(tmp_path):
    form = known()["nghttpx"].log
    behind = [made.served("https://a.test/a", "h1", t_us=7_300_000)]
    log = write(tmp_path / "access.log", nginxs(ended="1970-01-01T00:00:07.000Z", took=0.5))
    [line] = read_lines(log, form, behind)
    assert (line.began_us, line.ended_us) == (7_300_000, 7_800_000)


def test_a_line_that_lacks_a_field_is_an_error_that_names_it(tmp_path):
    with pytest.raises(TestbedError, match=r"access.log, line 2: no method"):
        read_lines(
            write(tmp_path / "access.log", nginxs(), nginxs(method="-")), known()["nginx"].log
        )


@pytest.mark.parametrize("status", ["000", "-", "0"])
def test_a_request_that_was_given_up_before_an_answer_has_no_status(tmp_path, status):
    [line] = read_lines(write(tmp_path / "access.log", nginxs(status=status)), known()["nginx"].log)
    assert line.status in UNANSWERED


@pytest.mark.parametrize("name", ["apache", "haproxy", "nghttpx", "nginx"])
def test_a_status_is_a_string_because_000_is_no_number_in_json(name):
    assert re.search(r'status\\?":\\?"[$%]', known()[name].config)


def test_a_log_that_tells_too_little_is_refused():
    with pytest.raises(ValueError, match=r"fields lacks .*ended"):
        AccessLog(fields={"port": "port"})
