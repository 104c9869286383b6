"""Refuses impossible combinations before the first visit."""

from collections.abc import Sequence
from itertools import product

from dragstrip.model.addresses import Addresses, servers
from dragstrip.model.browsers import BROWSERS
from dragstrip.model.done import AT_LOAD
from dragstrip.model.effects import HostPath
from dragstrip.model.errors import InputError
from dragstrip.model.family import HEADER_BYTES, UDP_HEADER_BYTES
from dragstrip.model.network import ETHERNET_MTU, Network
from dragstrip.model.page import Page
from dragstrip.model.servers import OURS
from dragstrip.model.stack import Stack
from dragstrip.model.study import Client
from dragstrip.pages.hints import early_hints
from dragstrip.study.clients import check_clients


def check(
    networks: Sequence[Network],
    stacks: Sequence[Stack],
    client: Client,
    *,
    pages: Sequence[Page],
    addresses: Addresses,
    live: bool,
) -> None:
    """Raise `InputError` for combinations with which no visit is possible."""
    if live:
        _check_live(networks, stacks)
    check_clients(stacks)
    _check_family(networks, stacks, live=live)
    _check_names(networks, stacks, live=live)
    _check_done(pages, stacks)
    _check_hints(pages, stacks)
    _check_ports(pages, stacks)
    hosts = {host for page in pages for host in page.hosts}
    for stack in stacks:
        if client.frames and not stack.loaded_by.frames:
            raise InputError(
                f"stack {stack.name!r}: {stack.loaded_by.what} records no frames, so it would race "
                "without their cost: turn frames off, or race other stacks"
            )
        if client.main_thread and not stack.loaded_by.main_thread:
            raise InputError(
                f"stack {stack.name!r}: {stack.loaded_by.what} records no main thread, so it would "
                "race without its cost: turn main_thread off, or race other stacks"
            )
    hosts = {host for page in pages for host in page.hosts}
    for network in networks:
        _check_rebinding(network, stacks, live=live)
        for host in (p.host for p in (*network.down.hosts, *network.up.hosts)):
            if host not in hosts:
                raise InputError(f"network {network.name!r} names {host}, which no page here has")
        for paths in (network.down.hosts, network.up.hosts):
            _check_paths(network.name, paths, pages, addresses)


def _check_family(networks: Sequence[Network], stacks: Sequence[Stack], *, live: bool) -> None:
    """Raise `InputError` for what does not go over a network's address family."""
    for network in networks:
        family = network.family
        if live and family != 4:
            raise InputError(
                f"network {network.name!r} has family = {family}, and the hosts of a live page "
                "have the addresses that the internet gives them: omit family, or race a recording"
            )
        most = ETHERNET_MTU - HEADER_BYTES[family] - UDP_HEADER_BYTES
        for stack in stacks:
            if family not in stack.serving.families:
                raise InputError(
                    f"stack {stack.name!r}: server {stack.server} cannot listen on IPv{family}, "
                    f"which network {network.name!r} asks for: race it over another network, or "
                    "race other stacks"
                )
            if stack.transport == "quic" and stack.udp_payload_bytes > most:
                raise InputError(
                    f"stack {stack.name!r}: with udp_payload_bytes = {stack.udp_payload_bytes} its "
                    f"packets exceed Ethernet's {ETHERNET_MTU} bytes over IPv{family}, as network "
                    f"{network.name!r} asks: give at most {most}"
                )


def _check_rebinding(network: Network, stacks: Sequence[Stack], *, live: bool) -> None:
    """Raise `InputError` if a NAT is to forget clients that cannot show what browsers do then."""
    place = next((f"at[{n}].rebind" for n, step in enumerate(network.at) if step.rebind), "")
    if place and live:
        raise InputError(
            f"network {network.name!r}: {place}: a live page's servers would answer to an address "
            "that nothing routes: race a recording of the page, or omit rebind"
        )
    for stack in stacks if place else ():
        if stack.loaded_by.follows_graphs:
            raise InputError(
                f"network {network.name!r}: {place}: the load generator does not do what browsers "
                "do after a rebinding: race in a browser, or omit rebind"
            )


def _check_paths(
    network: str, paths: Sequence[HostPath], pages: Sequence[Page], addresses: Addresses
) -> None:
    """Raise `InputError` if a network has different paths for hosts that share an address."""
    given = {path.host: (path.delay_ms, path.loss) for path in paths}
    for page in pages if given else ():
        for server in servers(page, addresses):
            differing = {given.get(host): host for host in server.hosts}
            if len(differing) > 1:
                one, other = sorted(differing.values())[:2]
                raise InputError(
                    f"network {network!r} gives {one} and {other} different paths, but they share "
                    f"an address on page {page.name}: give both the same, or use "
                    'addresses = "one-each"'
                )


def _check_names(networks: Sequence[Network], stacks: Sequence[Stack], *, live: bool) -> None:
    """Raise `InputError` for a resolver that a stack's browser cannot ask, or that it lacks."""
    for network, stack in product(networks, stacks):
        browser, ask = stack.loaded_by, network.ask
        if stack.announced and ask == "none":
            told = "finds HTTP/3" if stack.by_name else "gets the server's key"
            raise InputError(
                f"stack {stack.name!r} {told} by its host's HTTPS record, and network "
                f"{network.name!r} has no resolver: give it dns = {{ delay_ms = 10 }}"
            )
        if ask == "none":
            continue
        where = f"network {network.name!r} has a resolver (dns)"
        if live:
            raise InputError(f"{where}, and a live page's names are the internet's: omit dns")
        if network.family != 4:
            raise InputError(f"{where}, which knows IPv4 only: omit dns, or give family = 4")
        if browser.follows_graphs:
            raise InputError(
                f"{where}, and stack {stack.name!r} is loaded by the load generator, which "
                "asks for no names: omit dns, or race it in a browser"
            )
        if ask == "doh" and stack.protocol == "h1":
            raise InputError(
                f"{where} that is asked by HTTPS, which takes HTTP/2, and stack {stack.name!r} "
                'keeps its browser to HTTP/1.1: give transport = "udp", or race another stack'
            )
        if ask not in browser.asks:
            able = [name for name, b in BROWSERS.items() if ask in b.asks]
            how = "by HTTPS" if ask == "doh" else "by UDP"
            raise InputError(
                f"{where} that is asked {how}, and stack {stack.name!r} is loaded by "
                f"{browser.what}, which cannot ask so: race it in {' or '.join(able)}, such as by "
                f"--browser {able[-1]}"
            )


def _check_done(pages: Sequence[Page], stacks: Sequence[Stack]) -> None:
    waits = next((page for page in pages if page.done != AT_LOAD), None)
    for stack in stacks:
        if waits and stack.loaded_by.load_event_only:
            raise InputError(
                f"stack {stack.name!r}: page {waits.name!r} counts as loaded at {waits.done}, and "
                f"its client ({stack.loaded_by.what}) knows only the load event: omit done, or "
                "race another stack"
            )


def _check_hints(pages: Sequence[Page], stacks: Sequence[Stack]) -> None:
    lacking = {
        "link": "no link header that names something to preload",
        "blocking": "no style sheet or script that holds up rendering",
    }
    for stack, page in product((s for s in stacks if s.early_hints in lacking), pages):
        if not early_hints(page, stack.early_hints):
            raise InputError(
                f"stack {stack.name!r} has early_hints = {stack.early_hints!r}, but the document "
                f"of page {page.name!r} has {lacking[stack.early_hints]}: use another value, or "
                "another page"
            )


def _check_ports(pages: Sequence[Page], stacks: Sequence[Stack]) -> None:
    """Raise `InputError` for pages with their own ports unless our origin serves them directly."""
    for page in pages:
        both = page.http_ports & page.https_ports
        if both:
            raise InputError(
                f"page {page.name!r} is asked for by http and by https at port {min(both)}, where "
                "a server speaks one of them: import it again without --keep-http"
            )
    for stack, page in product(stacks, (p for p in pages if p.ports)):
        why = f"page {page.name!r} is asked for at port {page.ports[0]}"
        if stack.server != OURS:
            raise InputError(
                f"stack {stack.name!r}: {why}, and server {stack.server} answers at one port only: "
                "race the page on our origin"
            )
        if stack.discovery == "as-recorded":
            raise InputError(
                f"stack {stack.name!r}: {why}, and the browser speaks a recorded protocol only at "
                "the ports of http and https: race other stacks"
            )


def _check_live(networks: Sequence[Network], stacks: Sequence[Stack]) -> None:
    if len({s.protocol for s in stacks}) < len(stacks):
        raise InputError(
            "on a live page stacks may differ only in protocol: the server is the site's"
        )
    if any(network.background for network in networks):
        raise InputError("background load needs our origin: a live page has none")
    for stack in stacks:
        if stack.server != OURS:
            raise InputError(
                f"stack {stack.name!r} asks for server {stack.server}: on a live page the server "
                "is the site's"
            )
        if stack.loaded_by.testbeds_only:
            raise InputError(
                f"stack {stack.name!r}: {stack.loaded_by.what} can reach only the hosts of "
                "recorded pages"
            )
