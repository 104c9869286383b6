"""A study with a resolver that no client can query is refused before the first visit."""

import pytest
from msgspec import structs

import made
from dragstrip.model.errors import InputError
from dragstrip.model.names import Dns
from dragstrip.model.stack import Stack
from dragstrip.model.study import Client
from dragstrip.study.clients import loaded_by
from dragstrip.study.possible import check
from dragstrip.study.presets import find_network, find_stack, in_browser

UDP, DOH = Dns(delay_ms=10), Dns(delay_ms=10, transport="doh")
H2 = find_stack("h2")


def checked(dns: Dns | None, *stacks: Stack, live: bool = False) -> None:
    network = structs.replace(made.LTE, dns=dns)
    check([network], stacks, Client(), pages=[made.PAGE], addresses="one-each", live=live)


@pytest.mark.parametrize(
    ("dns", "stacks", "live", "why"),
    [
        (DOH, (H2,), False, "asked by HTTPS, and stack 'h2' is loaded by today's Chromium"),
        (DOH, (find_stack("h1-firefox"),), False, "takes HTTP/2, and stack 'h1-firefox' keeps its"),
        (DOH, (in_browser(find_stack("h1"), "chromium"),), False, "keeps its browser to HTTP/1.1"),
        (UDP, loaded_by([H2], "loader"), False, "the load generator, which asks for no names"),
        (UDP, (find_stack("SPDY"),), False, "'SPDY' is loaded by Chromium 53"),
        (UDP, (H2,), True, "a live page's names are the internet's: omit dns"),
        (None, (find_stack("h3-https"),), False, "'h3-https' finds HTTP/3 by its host's HTTPS"),
        (Dns(transport="none"), (find_stack("h3-race"),), False, "has no resolver: give it dns"),
    ],
)
def test_what_no_client_can_ask_is_refused(dns, stacks, live, why):
    with pytest.raises(InputError, match=why):
        checked(dns, *stacks, live=live)


@pytest.mark.parametrize(
    ("browser", "dns"),
    [("chromium", UDP), ("chromium", DOH), ("firefox", UDP), ("firefox", DOH)],
)
def test_whole_browsers_ask_for_https_records(browser, dns):
    checked(dns, in_browser(H2, browser), in_browser(find_stack("h3-https"), browser))


def test_headless_shell_asks_by_udp_and_for_addresses_only():
    checked(UDP, H2, find_stack("h3-altsvc"))
    with pytest.raises(ValueError, match="asks for no HTTPS records, which discovery = 'https'"):
        structs.replace(find_stack("h3-https"), browser="chromium-headless-shell")


@pytest.mark.parametrize("name", ["LTE+dns", "LTE+doh", "DSL+dns", "DSL+doh"])
def test_a_preset_with_a_resolver_is_the_network_of_its_name_and_as_far(name):
    plain, found = find_network(name[:3]), find_network(name)
    assert (found.down, found.up) == (plain.down, plain.up)
    assert found.resolver.rtt_ms == found.rtt_ms
    assert found.ask == {"dns": "udp", "doh": "doh"}[name[4:]]
