"""Names and their discovery: the lies that the verdict catches, and honest visits like them."""

import pytest
from msgspec import structs

import made
from dragstrip.model.clock import REAL
from dragstrip.model.lookups import NameLookup
from dragstrip.model.names import Dns
from dragstrip.model.thresholds import DEFAULTS
from dragstrip.model.visit import Connection, LinkReport, NamesReport, Visit
from dragstrip.study.presets import find_stack, in_browser
from dragstrip.verdict.discovery_checks import announced
from dragstrip.verdict.discovery_checks import discovered as discovered_by_answers
from dragstrip.verdict.names_checks import resolved
from dragstrip.verdict.path_checks import nothing_there, one_family, origin

DNS = Dns(delay_ms=10, upstream_ms=30)
NETWORK = structs.replace(made.LTE, dns=DNS)
BROKEN = structs.replace(made.LTE, dns=Dns(delay_ms=10, broken_ipv6=True))
START = 1_000_000_000
HTTPS, RACE = find_stack("h3-https"), find_stack("h3-race")


def lookup(
    kind: str = "A", at_ms: float = 10, took_ms: float = 30, **changes: object
) -> NameLookup:
    asked_us = START + round(at_ms * 1000)
    made_up = NameLookup(
        t_us=asked_us,
        answered_us=asked_us + round(took_ms * 1000),
        name="a.test",
        kind=kind,
        transport="udp",
        missed=True,
        answers=1,
    )
    return structs.replace(made_up, **changes)


def path(transit_ms: float = 10.001, **changes: object) -> LinkReport:
    way = made.direction(
        packets_in=2,
        packets_out=2,
        transit_min_ms=transit_ms,
        flight_min_ms=transit_ms,
        far_ends=(),
        **changes,
    )
    return LinkReport(down=way, up=way)


def visit(
    *lookups: NameLookup, over: LinkReport | None = None, protocol: str = "h2", **changes: object
) -> Visit:
    names = NamesReport(lookups=lookups or (lookup(),), path=over or path())
    return made.visit(protocol, names=names, **changes)


def reasons(of: Visit, network=NETWORK) -> list[str]:
    return [f"{r.code}: {r.detail}" for r in resolved(of, network, DEFAULTS, REAL)]


def connected(at_ms: float, host: str = "a.test") -> tuple[Connection, ...]:
    (one,) = made.visit().connections
    return (structs.replace(one, t_us=START + round(at_ms * 1000), host=host),)


def test_a_visit_that_asked_and_waited_is_valid():
    assert not reasons(visit())


def test_without_a_resolver_nothing_is_judged():
    assert not reasons(made.visit(), made.LTE)


@pytest.mark.parametrize(
    ("lie", "why"),
    [
        (made.visit(), "the resolver gave no report"),
        (visit(over=path(2.0)), "path to the resolver, down: a packet passed in 2.000 ms"),
        (visit(over=path(17.0)), "no packet passed in less than 17.000 ms"),
        (visit(over=path(dropped_loss=2)), "2 of 4 packets were lost at random"),
        (visit(lookup(transport="doh")), "names were not asked for by udp"),
        (visit(lookup(took_ms=0)), "the resolver took 0.0 ms for a.test (A)"),
        (visit(lookup(took_ms=45)), "the resolver took 45.0 ms for a.test (A)"),
        (visit(lookup(name="b.test")), "connected without asking the resolver: a.test"),
        (visit(lookup(answers=0)), "connected without asking the resolver: a.test"),
        (visit(connections=connected(85.9)), "before the name's answer can have: a.test by 1.1 ms"),
    ],
)
def test_each_lie_about_names_is_caught(lie, why):
    assert any(why in reason for reason in reasons(lie)), reasons(lie)


@pytest.mark.parametrize(
    "honest",
    [
        visit(lookup(), lookup(at_ms=45, took_ms=0)),  # a browser that asks twice
        visit(lookup(), lookup("AAAA", answers=0)),
        visit(lookup("HTTPS"), connections=connected(87.5)),  # connected by its address hints
        visit(lookup(), lookup(name="www.maker.test", answers=0, took_ms=0)),
        visit(lookup(took_ms=0), connection="repeat"),  # the resolver knows it since
        visit(lookup(took_ms=0, name="b.test"), connection="repeat"),  # so does the browser
        visit(connections=connected(120, host="elsewhere.test")),  # no host of the page
    ],
)
def test_honest_visits_with_names_are_valid(honest):
    assert not reasons(honest)


def test_names_that_the_resolver_knows_take_no_time():
    some = structs.replace(NETWORK, dns=structs.replace(DNS, misses=0.0))
    assert not reasons(visit(lookup(took_ms=0)), some)
    assert "where a name that it knows takes 0 to 5 ms" in reasons(visit(), some)[0]


def discovered(of: Visit, stack=HTTPS, network=NETWORK) -> list[str]:
    return [f"{r.code}: {r.detail}" for r in announced(of, network, stack)]


def udp(**changes: object) -> LinkReport:
    end = made.far_end(transport="udp", **changes)
    return LinkReport(down=made.direction(far_ends=(end,)), up=made.direction(far_ends=(end,)))


BOTH = (lookup(), lookup("HTTPS"))


@pytest.mark.parametrize(
    ("lie", "why"),
    [
        (visit(lookup(), lookup("HTTPS", answers=0), protocol="h3"), "names have no HTTPS record"),
        (visit(lookup(), protocol="h3"), "the browser asked for no HTTPS record of a.test"),
        (visit(*BOTH), "1 hosts announced h3 by their names, but the first request used TCP"),
    ],
)
def test_each_lie_about_https_records_is_caught(lie, why):
    assert any(why in reason for reason in discovered(lie)), discovered(lie)


ECH = structs.replace(in_browser(find_stack("quic-go-h2"), "chromium"), ech="keys")


@pytest.mark.parametrize(
    ("lookups", "why"),
    [
        (
            (lookup(), lookup("HTTPS", answers=0)),
            ["names have no HTTPS record: a.test"],
        ),
        ((lookup(),), ["the browser asked for no HTTPS record of a.test"]),
        (BOTH, []),
        ((lookup(), lookup("HTTPS", name="_8443._https.a.test")), []),  # of another port
    ],
)
def test_a_key_comes_by_a_record_too(lookups, why):
    assert discovered(visit(*lookups), ECH) == [f"stack-drift: {said}" for said in why]


@pytest.mark.parametrize(
    ("honest", "stack", "network"),
    [
        (visit(*BOTH, protocol="h3"), HTTPS, NETWORK),
        (visit(*BOTH, link=udp(dropped=1)), HTTPS, NETWORK),  # QUIC's packets were lost
        (visit(lookup(), over=path(dropped_loss=1)), HTTPS, NETWORK),  # the answer was lost
        (visit(*BOTH), HTTPS, BROKEN),  # QUIC tries IPv6, where nothing answers, and TCP is sooner
        (visit(*BOTH), RACE, NETWORK),  # TCP may win
        (visit(lookup(name="b.test"), protocol="h3", connection="repeat"), HTTPS, NETWORK),
        (visit(lookup()), find_stack("h2"), NETWORK),
    ],
)
def test_honest_visits_that_discover_are_valid(honest, stack, network):
    assert not discovered(honest, stack, network)


DARK = "2001:db8::a40:101"


def crossing(up: int, down: int, address: str = DARK) -> LinkReport:
    """Packets to and from the page's host, and to and from another address."""
    home, ends = made.far_end(), {}
    for side, packets in (("up", up), ("down", down)):
        other = made.far_end(address=address, packets=packets, bytes=60 * packets)
        ends[side] = made.direction(far_ends=(home, other) if packets else (home,))
    return LinkReport(**ends)


def fallback(of: Visit, network=BROKEN) -> list[str]:
    checks = (*nothing_there(of, network), *one_family(of, network), *origin(of, network))
    return [f"{r.code}: {r.detail}" for r in checks]


@pytest.mark.parametrize(
    ("lie", "network", "why"),
    [
        (visit(link=crossing(5, 4)), BROKEN, "IPv6 is broken, but packets came from"),
        (visit(lookup(), lookup("AAAA", answers=0)), BROKEN, "names have no IPv6 address: a.test"),
        (visit(link=crossing(5, 0, "2001:db8::1")), BROKEN, "packets went elsewhere"),
        (visit(link=crossing(5, 0)), NETWORK, "packets went elsewhere"),
    ],
)
def test_each_lie_about_broken_ipv6_is_caught(lie, network, why):
    assert any(why in reason for reason in fallback(lie, network)), fallback(lie, network)


@pytest.mark.parametrize(
    "honest",
    [
        visit(lookup(), lookup("AAAA"), link=crossing(5, 0)),  # it tried IPv6, and fell back
        visit(lookup(), lookup("AAAA")),  # it asked, and took IPv4
        visit(lookup()),  # it does not ask for IPv6 addresses
        visit(lookup(), lookup("AAAA", name="www.maker.test", answers=0)),
    ],
)
def test_honest_visits_over_broken_ipv6_are_valid(honest):
    assert not fallback(honest)


ALT_SVC = find_stack("h3-altsvc")
TCP_ONLY = LinkReport(
    down=made.direction(far_ends=(made.far_end(),)), up=made.direction(far_ends=(made.far_end(),))
)
ONE = made.visit("h2").requests[:1]
"""A host with a single request, after which no other could use QUIC."""


def by_alt_svc(**changes: object) -> list[str]:
    seen = visit(**{"link": TCP_ONLY, "requests": ONE, "primed": ("a.test",)} | changes)
    return [f"{r.code}: {r.detail}" for r in discovered_by_answers(seen, made.LTE, ALT_SVC)]


@pytest.mark.parametrize("mode", ["repeat", "repeat-cached"])
def test_an_announcement_that_was_dropped_shows_on_the_repeat_visit(mode):
    (reason,) = by_alt_svc(connection=mode)
    assert reason == (
        "fallback: 1 hosts announced h3 in an earlier visit, but were never tried over QUIC: a.test"
    )


@pytest.mark.parametrize(
    "honest",
    [
        {"connection": "first"},  # nothing was announced before
        {"connection": "repeat", "primed": ()},  # the host did not answer before
        {"connection": "repeat", "primed": None},  # of an older capsule
        {"connection": "repeat", "link": udp(dropped=1)},  # it was tried, and TCP was sooner
        {"connection": "repeat", "protocol": "h3", "requests": made.visit("h3").requests[:1]},
    ],
)
def test_a_repeat_visit_that_remembers_or_cannot_is_valid(honest):
    assert not by_alt_svc(**honest)
