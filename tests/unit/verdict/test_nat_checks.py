"""A NAT that loses its mappings: an honest load is valid, and each lie about it is found."""

import pytest
from msgspec import structs

import made
from dragstrip.model.effects import Direction
from dragstrip.model.network import Network
from dragstrip.model.stack import Stack
from dragstrip.model.steps import LinkStep
from dragstrip.model.thresholds import DEFAULTS
from dragstrip.model.visit import LinkReport, PhaseReport, Rebinding, Visit
from dragstrip.verdict.judge import judge

BOTH = Direction(rate_mbps=8, delay_ms=37, queue_ms=200)
FOLLOWS = structs.replace(made.STACKS["h3"], migration=True)
STAYS = made.STACKS["h3"]
OWN, NEW = "10.64.0.1:4000", "10.64.0.1:20000"


def network(**step: object) -> Network:
    fields = {"t_ms": 250, "rebind": "port"} | step
    return Network(name="LTE", down=BOTH, up=BOTH, at=(LinkStep(**fields),))


def load(
    stack: Stack,
    *,
    client_at: str | None = NEW,
    what: str | None = "port",
    mappings: tuple[tuple[str, str], ...] = ((OWN, NEW),),
    requests_us: int = 1_000_339_000,
) -> Visit:
    """A visit whose connection opened before the rebinding, at 250 ms."""
    visit = made.visit(stack.protocol)
    told = made.transport(stack, client_at=client_at)
    if stack.transport == "quic":
        assert told.offer
        offer = structs.replace(told.offer, migration=stack.migration)
        told = structs.replace(told, offer=offer)
    direction = {"line_bytes": 90_000, "line_ms": 90.0, "far_ends": ()}
    seen = (
        PhaseReport(
            at_us=999_999_000, up=made.direction(**direction), down=made.direction(**direction)
        ),
        PhaseReport(
            at_us=1_000_250_000,
            up=made.direction(**direction),
            down=made.direction(**direction, dropped_nat=4),
            rebinding=Rebinding(what=what, mappings=mappings) if what else None,
        ),
    )
    return structs.replace(
        visit,
        connections=tuple(structs.replace(c, transport=told) for c in visit.connections),
        served=(
            visit.served[0],
            *(structs.replace(s, t_us=requests_us) for s in visit.served[1:]),
        ),
        link=LinkReport(down=made.direction(dropped_nat=4), up=made.direction(), phases=seen),
    )


def codes(visit: Visit, asked: Network, stack: Stack) -> str:
    reasons = judge(visit, made.PAGE, asked, stack, DEFAULTS)
    return "; ".join(f"{reason.code}: {reason.detail}" for reason in reasons)


def test_a_client_that_the_origin_follows_is_valid():
    assert codes(load(FOLLOWS), network(), FOLLOWS) == ""


def test_a_client_that_moves_by_itself_may_be_anywhere_of_its_own():
    assert codes(load(FOLLOWS, client_at="10.64.0.1:4001"), network(), FOLLOWS) == ""


def test_an_origin_that_does_not_follow_is_valid():
    still = load(STAYS, client_at=OWN, requests_us=1_000_260_000)
    assert codes(still, network(), STAYS) == ""


def test_a_rebinding_that_did_not_happen_is_found():
    missing = load(FOLLOWS, what=None)
    assert "gave UDP no other port or address" in codes(missing, network(), FOLLOWS)
    other = load(FOLLOWS, what="address")
    assert "gave UDP another address, and the network asks for another port" in codes(
        other, network(), FOLLOWS
    )


def test_a_rebinding_that_was_not_asked_for_is_found():
    steady = network(rebind=None, queue="dropped")
    assert "and the network asks for none" in codes(load(FOLLOWS), steady, FOLLOWS)


def test_requests_that_went_on_without_their_mapping_are_found():
    lie = load(STAYS, client_at=OWN, requests_us=1_000_800_000)
    assert "whose mappings the NAT had lost at 250 ms" in codes(lie, network(), STAYS)


def test_what_was_still_on_its_way_is_no_lie():
    queued = load(STAYS, client_at=OWN, requests_us=1_000_300_000)
    assert codes(queued, network(), STAYS) == ""


def test_a_client_that_is_seen_where_no_mapping_leads_is_found():
    lie = load(STAYS, client_at="10.64.0.1:20001", requests_us=1_000_260_000)
    assert "where the NAT had not put them" in codes(lie, network(), STAYS)
    lie = load(FOLLOWS, client_at="100.64.0.9:4000")
    assert "where the NAT had not put them" in codes(lie, network(), FOLLOWS)


def test_an_origin_that_follows_must_have_seen_the_new_place():
    lie = load(FOLLOWS, client_at=OWN, requests_us=1_000_800_000)
    assert "saw no new place of clients that went on" in codes(lie, network(), FOLLOWS)


def test_an_address_may_change_with_the_port_kept():
    moved = load(
        FOLLOWS, what="address", client_at="100.64.0.1:4000", mappings=((OWN, "100.64.0.1:4000"),)
    )
    assert codes(moved, network(rebind="address"), FOLLOWS) == ""


@pytest.mark.parametrize(("tcp", "found"), [("kept", False), ("dropped", True)])
def test_tcp_goes_on_only_where_its_mappings_are_kept(tcp, found):
    stack = made.STACKS["h2"]
    late = load(stack, client_at=None, mappings=(), requests_us=1_000_800_000)
    assert ("whose mappings the NAT had lost" in codes(late, network(tcp=tcp), stack)) == found


@pytest.mark.parametrize("stack", [FOLLOWS, STAYS])
def test_an_origin_that_offers_otherwise_than_its_stack_is_found(stack):
    visit = load(stack, client_at=OWN, requests_us=1_000_260_000)
    other = structs.replace(stack, migration=not stack.migration)
    assert "the stack says otherwise" in codes(visit, network(), other)
