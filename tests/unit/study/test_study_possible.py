"""What no visit could be is refused before the first, in one sentence."""

import pytest
from msgspec import structs

import made
from dragstrip.model.errors import InputError
from dragstrip.model.network import HostPath, Network
from dragstrip.model.study import Client
from dragstrip.study.possible import check
from dragstrip.study.presets import find_stack

H2, H3, GQUIC = find_stack("h2"), find_stack("h3"), find_stack("gQUIC")
SPDY, OLD_H2 = find_stack("SPDY"), find_stack("h2-chromium53-origin")


def to_host(host: str) -> Network:
    down = structs.replace(made.LTE.down, hosts=(HostPath(host=host, delay_ms=10),))
    return structs.replace(made.LTE, down=down)


@pytest.mark.parametrize(
    ("stacks", "live", "frames", "network", "why"),
    [
        ((H2, find_stack("TCP+")), True, False, made.LTE, "differ only in protocol"),
        ((H2, GQUIC), True, False, made.LTE, "'gQUIC' asks for server gquic-origin: on a live"),
        ((SPDY, H2), True, False, made.LTE, "'SPDY' asks for server node-spdy: on a live page"),
        (
            (OLD_H2, H3),
            True,
            False,
            made.LTE,
            "Chromium 53 of August 2016 can reach only the hosts",
        ),
        ((SPDY, H2), False, True, made.LTE, "'SPDY': Chromium 53 of August 2016 records no frames"),
        ((H2, H3), False, False, to_host("b.test"), "names b.test, which no page here has"),
    ],
)
def test_what_cannot_be_had_is_refused(stacks, live, frames, network, why):
    with pytest.raises(InputError, match=why):
        check([network], stacks, Client(frames=frames), hosts={"a.test"}, live=live)


def test_what_can_be_had_is_not():
    for stacks in ((SPDY, OLD_H2), (find_stack("SPDY-netty"), GQUIC)):
        assert check([to_host("a.test")], stacks, Client(), hosts={"a.test"}, live=False) is None
    assert check([made.LTE], (H2, H3), Client(frames=True), hosts=(), live=True) is None
