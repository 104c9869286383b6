"""Caddy behind the same seam: its visits are judged like the origin's, by its log."""

import shutil
from dataclasses import replace

import pytest
from msgspec import structs

from conftest import Track, judged, plan_of, told
from dragstrip.browsers.chromium import stack_flags
from dragstrip.model.stack import ConnectionMode, Stack
from dragstrip.model.visit import Visit
from dragstrip.study.presets import find_stack

pytestmark = pytest.mark.skipif(
    not shutil.which("caddy"), reason="caddy is missing: apt-get install caddy"
)


def make(
    track: Track,
    stack: Stack,
    connection: ConnectionMode = "first",
    *,
    over: str | None = None,
    led: bool = True,
) -> Visit:
    """A visit that claims `stack`, in a browser that speaks `over` and may not be `led` there."""
    page = track.page("6x20KB", hosts=2)
    track.bed.origin.serve(page)
    plan = plan_of(page, stack, connection=connection)
    flags = stack_flags(stack, track.bed.addresses) if led else ()
    return judged(track.bed, track.browser(over or stack.protocol, *flags), plan)[0]


@pytest.mark.parametrize("connection", ["first", "repeat"])
@pytest.mark.parametrize("protocol", ["h1", "h2", "h3"])
def test_each_protocol_is_valid_by_caddys_own_word(track, protocol, connection):
    made = make(track, find_stack(f"caddy-{protocol}"), connection)
    assert made.outcome == "loaded"
    assert told(made) == []
    assert {s.protocol for s in made.served} == {c.protocol for c in made.connections} == {protocol}
    assert [s.match for s in made.served] == ["exact"] * 7
    assert {s.host: s.body_bytes for s in made.served}["s2.synth.test"] == 20_000
    if protocol != "h3":  # over QUIC Caddy does not say
        assert made.connections[0].resumed == (connection == "repeat")
    assert made.unchecked
    assert all(c.transport is None for c in made.connections)


@pytest.mark.parametrize(("claimed", "really"), [("h2", "h1"), ("h3", "h2"), ("h1", "h3")])
def test_another_protocol_is_a_fallback_by_both_words(track, claimed, really):
    made = make(track, find_stack(f"caddy-{claimed}"), over=really)
    assert [r.split(",")[0] for r in told(made)][:2] == [
        f"fallback: the stack asks for {claimed}"
    ] * 2
    assert "the browser saw 7" in told(made)[0]
    assert "the origin saw 7" in told(made)[1]


def test_answers_from_our_origin_are_not_caddys(track):
    """A browser without the flags that lead to Caddy receives answers from our origin, and the
    check names it."""
    made = make(track, find_stack("caddy-h2"), led=False)
    assert told(made)[0].startswith("stack-drift: the browser received 7 answers the origin never")


def test_resumption_can_be_switched_off(track):
    stack = structs.replace(find_stack("caddy-h2"), resumption=False)
    assert told(make(track, stack, "repeat")) == []
    honest = find_stack("caddy-h2")
    bed, track.bed = track.bed, replace(track.bed, origin=Cold(track.bed.origin))
    try:
        assert "resumed no TLS session" in " ".join(told(make(track, honest, "repeat")))
    finally:
        track.bed = bed


class Cold:
    """Servers that resume nothing, whatever the stack asks for."""

    def __init__(self, honest: object) -> None:
        self._honest = honest

    def __getattr__(self, name: str) -> object:
        return getattr(self._honest, name)

    def tune(self, stack: Stack, *more: float) -> None:
        self._honest.tune(structs.replace(stack, resumption=False), *more)  # type: ignore[attr-defined]


def test_both_servers_take_turns_in_one_testbed(track):
    for name in ("TCP+", "caddy-h2", "QUIC", "caddy-h3", "TCP+"):
        made = make(track, find_stack(name))
        assert made.outcome == "loaded"
        assert told(made) == []
