"""dragstrip starts a server that a study brings, judges it by what can be seen, and reports its
failures in one line."""

import sys
from pathlib import Path

import pytest

from conftest import Track, judged, plan_of, told
from dragstrip.browsers.chromium import stack_flags
from dragstrip.model.servers import Server
from dragstrip.model.stack import Stack
from dragstrip.model.visit import Visit
from dragstrip.study.presets import find_stack
from dragstrip.study.servers import parse_server, stack_on
from dragstrip.testbed.errors import TestbedError
from dragstrip.testbed.servers.packages import unpacked

TINY = Path(__file__).parents[2] / "programs" / "tiny_server.py"


def tiny(*options: str) -> Server:
    words = " ".join([sys.executable, str(TINY), "{config}", *options])
    name = "".join(o.strip("-/.") for o in options) or "tiny"
    return parse_server(f"{name}={words}")


def make(track: Track, stack: Stack, over: str | None = None) -> Visit:
    page = track.page("6x20KB", hosts=2)
    track.bed.origin.serve(page)
    flags = stack_flags(stack, track.bed.addresses)
    return judged(track.bed, track.browser(over or stack.protocol, *flags), plan_of(page, stack))[0]


def test_a_server_without_adaptation_is_raced(track):
    made = make(track, stack_on(tiny(), "h1"))
    assert (made.outcome, told(made)) == ("loaded", [])
    assert set(made.congestion) == {"cubic"}
    assert made.served == made.connections == ()
    assert "the server's log of requests and protocols" in made.unchecked
    assert {place.rpartition(":")[2] for place in made.addresses.values()} != {"443"}


def test_the_kernels_word_on_congestion_control_is_believed(track):
    stack = stack_on(tiny(), "h1", congestion="reno")
    assert told(make(track, stack)) == []


def test_other_bytes_are_no_page(track):
    [reason, *_] = told(make(track, stack_on(tiny("--lie"), "h1")))
    assert reason.startswith("content-mismatch: ")


def test_another_protocol_is_a_fallback(track):
    [reason] = told(make(track, stack_on(tiny(), "h2"), over="h1"))
    assert reason.startswith("fallback: the stack asks for h2, but the browser saw 7 on h1")


def test_a_server_that_does_not_start_says_why(track):
    with pytest.raises(TestbedError, match=r"server mute did not start .*no licence"):
        make(track, stack_on(tiny("--mute"), "h1"))


def test_a_server_that_dies_says_its_last_words(track):
    with pytest.raises(TestbedError, match=r"ended by itself \(exit 3\): .*out of luck"):
        make(track, stack_on(tiny("--die-at", "/00002.png"), "h1"))


@pytest.mark.parametrize("connection", ["first", "repeat"])
@pytest.mark.parametrize(
    "name",
    [
        *("nginx-h1", "nginx-h2", "nginx-h3", "haproxy-h2", "haproxy-h3", "apache-h2"),
        *("nghttpx-h2", "caddy-today-h3", "hypercorn-h1", "hypercorn-h2", "hypercorn-h3"),
        *("envoy-h1", "envoy-h2", "envoy-h3", "quic-go-h1", "quic-go-h2", "quic-go-h3"),
        *("bun-h1", "bun-h2", "bun-h3", "node-h1", "node-h2", "noq-h3", "s2n-quic-h3"),
    ],
)
def test_servers_that_people_run(track, name, connection):
    stack = find_stack(name)
    if not unpacked(stack.serving):
        pytest.skip(f"not installed: dragstrip servers install {stack.server}")
    page = track.page("6x20KB", hosts=2)
    track.bed.origin.serve(page)
    flags = stack_flags(stack, track.bed.addresses)
    plan = plan_of(page, stack, connection=connection)
    made = judged(track.bed, track.browser(stack.protocol, *flags), plan)[0]
    assert (made.outcome, told(made)) == ("loaded", [])
    assert {s.protocol for s in made.served} == {stack.protocol}
    assert [s.match for s in made.served] == ["exact"] * 7
    if stack.resumption and "handshakes" not in stack.untold:
        # Later connections of a first visit resume, and a spare connection may never do a
        # handshake.
        of = made.connections[:1] if connection == "first" else made.connections
        assert any(c.resumed for c in of) == (connection == "repeat")
