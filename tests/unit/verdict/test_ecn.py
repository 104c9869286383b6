"""The verdict on ECN, by the packets that the link carried."""

import pytest
from msgspec import structs

import made
from dragstrip.model.stack import Stack
from dragstrip.model.visit import Visit
from dragstrip.study.presets import find_stack
from dragstrip.verdict.ecn_checks import ecn

TCP, QUIC = find_stack("h2"), find_stack("h3")
TCP_ECN, QUIC_ECN = (structs.replace(stack, ecn=True) for stack in (TCP, QUIC))
BROUGHT = structs.replace(find_stack("nginx-h3"), name="nginx")


def visit(ect: int | None, *, packets: int = 1000, lost: int = 0, answers: bool = True) -> Visit:
    """A visit in which `ect` of the packets to the client were capable of ECN."""
    seen = made.visit("h2")
    assert seen.link
    down = structs.replace(seen.link.down, ect=ect, packets_out=packets)
    up = structs.replace(seen.link.up, dropped_queue=lost)
    link = structs.replace(seen.link, down=down, up=up)
    return structs.replace(seen, link=link, served=seen.served if answers else ())


@pytest.mark.parametrize(
    ("stack", "seen"),
    [
        (TCP, visit(0)),
        (QUIC, visit(0)),
        (TCP_ECN, visit(800)),  # the others had no data
        (TCP_ECN, visit(0, lost=1)),  # a SYN sent again asks for no ECN
        (TCP_ECN, visit(0, answers=False)),
        (QUIC_ECN, visit(1000)),
        (QUIC_ECN, visit(990)),  # stateless answers are not
        (BROUGHT, visit(1000)),  # nginx decides
        (TCP, visit(None)),  # an old capsule
        (TCP_ECN, structs.replace(visit(0), link=None)),
    ],
)
def test_what_a_correct_server_may_do_is_believed(stack: Stack, seen: Visit):
    assert list(ecn(seen, stack)) == []


@pytest.mark.parametrize(
    ("stack", "seen", "said"),
    [
        (TCP, visit(1), "has no ECN, but 1 packets"),
        (QUIC, visit(1000), "has no ECN, but 1000 packets"),
        (TCP_ECN, visit(0), "no packet was capable"),
        (QUIC_ECN, visit(0), "only 0 of 1000"),
        (QUIC_ECN, visit(12), "the browser does not confirm"),
    ],
)
def test_each_lie_about_ecn_is_drift(stack: Stack, seen: Visit, said: str):
    (reason,) = ecn(seen, stack)
    assert reason.code == "stack-drift"
    assert said in reason.detail
