"""IPv4 and IPv6: how a network names its family, what is refused, and what the verdict catches."""

import msgspec
import pytest
from msgspec import structs

import made
from dragstrip.model.effects import Direction
from dragstrip.model.errors import InputError
from dragstrip.model.family import address_in, family_of, place, port_in
from dragstrip.model.network import Network
from dragstrip.model.page import Page
from dragstrip.model.study import Client
from dragstrip.study.networks import read_network
from dragstrip.study.possible import check
from dragstrip.study.presets import find_network, find_stack
from dragstrip.testbed.net.layout import one_each
from dragstrip.testbed.servers.site import places_of
from dragstrip.verdict.path_checks import crossed, one_family, origin

LTE6 = find_network("ipv6:LTE")
HOME = "fd64:7261:6773:1::1"


@pytest.mark.parametrize("address", ["10.64.1.1", HOME, "::1"])
def test_a_place_is_read_as_it_is_written(address):
    at = place(address, 8443)
    assert (address_in(at), port_in(at)) == (address, 8443)
    assert (address_in(""), port_in("")) == ("", 0)


def test_a_network_over_ipv6_says_so_and_is_the_same_otherwise():
    lte = find_network("LTE")
    assert (lte.family, LTE6.family, LTE6.name) == (4, 6, "ipv6:LTE")
    assert structs.replace(LTE6, name="LTE", family=4) == lte
    assert LTE6.describe() == f"{lte.describe()}; over IPv6"
    assert find_network("ipv6:10mbit/20ms").down.rate_mbps == 10


def test_a_capsule_without_the_field_is_over_ipv4():
    old = msgspec.to_builtins(find_network("LTE"))
    del old["family"]
    assert msgspec.convert(old, Network).family == 4


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"family": 5}, "family: Invalid enum value 5"),
        ({"family": "6"}, "family: needs `int`, not `str`"),
        (
            {"family": 6, "down": {"mtu": 1279}},
            r"down.mtu is 1279, .* at least 1280, or family = 4",
        ),
        ({"family": 6, "up": {"mtu": 68}}, r"up.mtu is 68, .* at least 1280"),
    ],
)
def test_a_network_that_cannot_be_is_refused(tmp_path, table, said):
    with pytest.raises(InputError, match=said):
        read_network("n", {"down": {}, "up": {}} | table, tmp_path)


def test_a_prefix_on_a_network_that_cannot_be_over_ipv6_is_refused(monkeypatch):
    narrow = Network(name="narrow", down=Direction(mtu=600), up=Direction())
    monkeypatch.setattr("dragstrip.study.presets.networks", lambda: {"narrow": narrow})
    with pytest.raises(InputError, match=r"network 'ipv6:narrow': down\.mtu is 600"):
        find_network("ipv6:narrow")
    with pytest.raises(InputError, match="unknown network 'nowhere'"):
        find_network("ipv6:nowhere")


def possible(network: Network, *stacks: str, live: bool = False, pages: tuple[Page, ...] = ()):
    found = [find_stack(name) for name in stacks]
    check([network], found, Client(), pages=pages, addresses="one-each", live=live)


def test_what_cannot_go_over_ipv6_is_refused():
    possible(LTE6, "h1", "h2", "h3", "nginx-h3", "haproxy-h3", "caddy-h3", "SPDY")
    with pytest.raises(InputError, match="server gquic-origin cannot listen on IPv6"):
        possible(LTE6, "h2", "gQUIC")
    with pytest.raises(InputError, match="live page"):
        possible(LTE6, "h2", "h3", live=True)


def test_payloads_that_exceed_a_packet_over_ipv6_are_refused():
    def race(network: Network, payload: int) -> None:
        long = structs.replace(find_stack("h3"), name="long", udp_payload_bytes=payload)
        check([network], [long], Client(), pages=(), addresses="one-each", live=False)

    race(find_network("LTE"), 1472)
    race(LTE6, 1452)
    with pytest.raises(InputError, match=r"exceed Ethernet's 1500 bytes .*: give at most 1452"):
        race(LTE6, 1453)


def test_hosts_have_addresses_of_the_family_and_servers_beside_them_too():
    made_of = one_each(["a.test", "b.test"], 6)
    assert made_of.addresses == {"a.test": HOME, "b.test": "fd64:7261:6773:1::2"}
    assert places_of(find_stack("h2").serving, made_of.addresses)["b.test"] == (
        "[fd64:7261:6773:1::2]:443"
    )
    beside = places_of(find_stack("SPDY").serving, made_of.addresses)["a.test"]
    assert beside == "[fd64:7261:6773:1::1:1]:443"


def over_ipv6():
    """The believable visit, at an address of IPv6."""
    visit = made.visit()

    def moved(end):
        return structs.replace(end, address=HOME)

    assert visit.link
    sides = {
        side: structs.replace(
            visit.link.direction(side),
            far_ends=tuple(map(moved, visit.link.direction(side).far_ends or ())),
        )
        for side in ("down", "up")
    }
    return structs.replace(
        visit,
        addresses={"a.test": place(HOME, 443)},
        requests=tuple(structs.replace(r, remote_ip=HOME) for r in visit.requests),
        link=structs.replace(visit.link, **sides),
    )


def test_an_honest_visit_over_either_family_stands():
    for visit, network in ((made.visit(), made.LTE), (over_ipv6(), LTE6)):
        for check_of in (lambda v, n: one_family(v, n), lambda v, n: origin(v, n)):
            assert list(check_of(visit, network)) == []
        assert list(crossed(visit)) == []


def test_answers_connections_and_packets_over_the_other_family_are_a_lie():
    (why,) = one_family(structs.replace(made.visit(), addresses=over_ipv6().addresses), made.LTE)
    assert f"the network is IPv4, but hosts were served at {HOME}" in why.detail
    lies = list(one_family(made.visit(), LTE6))
    assert {why.code for why in lies} == {"stack-drift"}
    assert len(lies) == 3  # hosts, answers, packets
    honest = over_ipv6()
    first, *others = honest.requests
    fell_back = structs.replace(
        honest, requests=(structs.replace(first, remote_ip="10.64.1.1"), *others)
    )
    (why,) = one_family(fell_back, LTE6)
    assert why.detail == "the network is IPv6, but answers came from 10.64.1.1"
    accepted = structs.replace(honest.connections[0], address="10.64.1.1")
    (why,) = one_family(structs.replace(honest, connections=(accepted,)), LTE6)
    assert "connections were accepted at 10.64.1.1" in why.detail
    assert honest.link
    stray = made.far_end(address="10.64.1.1", port=443)
    up = structs.replace(honest.link.up, far_ends=(*honest.link.up.far_ends, stray))
    (why,) = one_family(structs.replace(honest, link=structs.replace(honest.link, up=up)), LTE6)
    assert "packets crossed the link to or from 10.64.1.1" in why.detail


def test_a_live_page_has_the_internets_addresses():
    visit = structs.replace(made.visit(), addresses={})
    assert list(one_family(visit, LTE6)) == []
    assert family_of("::ffff:10.0.0.1") == 6
