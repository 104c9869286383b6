"""Caddy's access log becomes evidence: what it says, in order, and nothing lost or made up."""

import msgspec
import pytest

import made
from dragstrip.testbed.caddy_log import connections, read_lines, requests
from dragstrip.testbed.errors import TestbedError


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
    assert [each.url for each in read_lines(log)] == ["https://a.test/a", "https://a.test/b"]
    assert read_lines(log) == []


def test_how_the_recording_answered_is_the_origins_word(tmp_path):
    log = write(tmp_path / "access.json", line("/1.js", 8.0), line("/alone", 9.0))
    seen = requests(read_lines(log), [made.served("https://a.test/1.js", "h1", match="query")])
    assert [(s.match, s.protocol, s.t_us, s.end_us) for s in seen] == [
        ("query", "h2", 7_500_000, 8_000_000),
        ("miss", "h2", 8_500_000, 9_000_000),
    ]


def test_a_connection_is_known_by_its_port(tmp_path):
    log = write(
        tmp_path / "access.json",
        line("/a", 8.0),
        line("/b", 8.1),
        line("/c", 8.2, port="4001", proto="HTTP/3.0", sni=""),
    )
    seen = connections(read_lines(log))
    assert [(c.id, c.protocol, c.host) for c in seen] == [
        (4000, "h2", "a.test"),
        (4001, "h3", "a.test"),
    ]
    assert all(c.transport is None for c in seen)


@pytest.mark.parametrize("wrong", [{"ts": "noon"}, line("/a", 8.0, proto="SPDY/3")])
def test_a_log_of_another_kind_is_an_error(tmp_path, wrong):
    with pytest.raises(TestbedError, match="access log"):
        read_lines(write(tmp_path / "access.json", wrong))
