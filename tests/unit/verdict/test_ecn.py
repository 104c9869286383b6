"""The verdict on ECN, by the packets that the link carried."""

import pytest
from msgspec import structs

import made
from dragstrip.model.stack import Stack
from dragstrip.model.visit import FarEnd, Visit
from dragstrip.study.presets import find_stack
from dragstrip.verdict.ecn_checks import ecn

TCP, QUIC = find_stack("h2"), find_stack("h3")
TCP_ECN, QUIC_ECN = (structs.replace(stack, ecn=True) for stack in (TCP, QUIC))
ACCURATE = structs.replace(TCP, ecn="accurate")
L4S = structs.replace(QUIC, ecn="l4s", congestion="prague")
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


def counted(
    stack: Stack, *, lost: int = 0, beside: tuple[FarEnd, ...] = (), **counts: int
) -> Visit:
    """A visit whose packets from the server's address have these code points, of 1000."""
    seen = visit(1000, lost=lost)
    assert seen.link
    transport = "udp" if stack.transport == "quic" else "tcp"
    told = {"ect0": 0, **counts}
    end = FarEnd(
        address="10.64.1.1", port=443, transport=transport, packets=1000, bytes=10**6, **told
    )
    down = structs.replace(seen.link.down, far_ends=(end, *beside))
    return structs.replace(seen, link=structs.replace(seen.link, down=down))


BULK = FarEnd(
    address="10.64.0.1", port=50_123, transport="tcp", packets=9000, bytes=10**7, ect0=9000
)


@pytest.mark.parametrize(
    ("stack", "counts"),
    [
        (L4S, {"ect1": 1000}),
        (L4S, {"ect1": 980}),  # stateless answers are not
        (QUIC_ECN, {"ect0": 1000}),
        (TCP_ECN, {"ect0": 700, "classic_ecn": 2}),
        (ACCURATE, {"ect0": 700, "accurate_ecn": 2}),
        (ACCURATE, {"ect0": 700, "accurate_ecn": 1, "classic_ecn": 1, "lost": 1}),
        (QUIC, {}),
        (TCP, {}),
    ],
)
def test_each_code_point_is_believed_of_the_stack_that_has_it(stack: Stack, counts: dict[str, int]):
    assert list(ecn(counted(stack, **counts), stack)) == []
    assert list(ecn(counted(stack, beside=(BULK,), **counts), stack)) == [], "background load"


@pytest.mark.parametrize(
    ("stack", "counts", "said"),
    [
        (L4S, {"ect0": 1000}, "sends ECT(1), but 1000 packets came as ECT(0)"),
        (L4S, {"ect1": 999, "ect0": 1}, "but 1 packets came as ECT(0)"),
        (L4S, {}, "only 0 of 1000"),
        (L4S, {"ect1": 40}, "the browser does not confirm"),
        (QUIC_ECN, {"ect1": 1000}, "sends ECT(0), but 1000 packets came as ECT(1)"),
        (TCP_ECN, {"ect1": 700, "classic_ecn": 1}, "came as ECT(1)"),
        (TCP_ECN, {"ect0": 700, "accurate_ecn": 1}, "but 1 connections AccECN"),
        (ACCURATE, {"ect0": 700, "classic_ecn": 2}, "2 connections agreed to RFC 3168's"),
        (ACCURATE, {}, "no packet was capable"),
        (QUIC, {"ect1": 1000}, "has no ECN, but 1000 packets"),
        (TCP, {"ect0": 3}, "has no ECN, but 3 packets"),
    ],
)
def test_each_wrong_code_point_is_drift(stack: Stack, counts: dict[str, int], said: str):
    reasons = list(ecn(counted(stack, beside=(BULK,), **counts), stack))
    assert {reason.code for reason in reasons} == {"stack-drift"}
    assert any(said in reason.detail for reason in reasons), reasons
