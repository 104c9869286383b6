"""Makes one visit: configures link and origin, loads the page and collects all evidence.

`dragstrip.verdict` judges the visit later.
"""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from msgspec import structs

from dragstrip.browsers.driven import Driven, Tab
from dragstrip.browsers.exchanges import Exchange, received
from dragstrip.browsers.load import Load
from dragstrip.model.effects import Direction
from dragstrip.model.family import address_in
from dragstrip.model.network import Network
from dragstrip.model.page import Page
from dragstrip.model.stack import ConnectionMode, Protocol, Stack
from dragstrip.model.study import Block, Client
from dragstrip.model.visit import HostReport, LinkReport, Overhead, Request, Served, Visit
from dragstrip.testbed.background import background
from dragstrip.testbed.net.kernel import forgotten_mtu
from dragstrip.testbed.servers.origin import OriginLog
from dragstrip.testbed.testbed import Testbed
from dragstrip.visit.afterwards import without_afterwards
from dragstrip.visit.frames import visual
from dragstrip.visit.host import HostMeter, others_share, outside_cpu_s
from dragstrip.visit.run_queue import RunQueue, TestbedTime
from dragstrip.visit.server_word import with_server_word, without_late_stamps
from dragstrip.visit.sockets import with_sockets
from dragstrip.visit.wire import Wire

_CLOSINGS = 5
_ASKS_AGAIN_S = 0.03
_LEAST_DRAIN_S = 0.2


@dataclass(frozen=True, kw_only=True)
class VisitPlan:
    """Everything that determines a visit."""

    block: Block
    attempt: int
    page: Page
    network: Network
    stack: Stack
    client: Client
    known_misses: tuple[str, ...] = ()
    known_aborts: tuple[str, ...] = ()
    rehearsed: tuple[int, ...] | None = None
    """The requests of the page's rehearsals, see `dragstrip.model.visit.Visit`."""
    artefacts: Path | None = None
    """The capsule in which captures are kept; None keeps none."""


class PrimedHosts(NamedTuple):
    """Hosts that answered in the load before a repeat visit, over connections that were opened for
    them."""

    hosts: tuple[str, ...]
    quic: tuple[str, ...]
    """The hosts that also answered over QUIC."""


def visit(bed: Testbed, browser: Driven, plan: VisitPlan) -> tuple[Visit, Load]:
    """Make the visit. The `Load` contains the headers, which a HAR needs.

    Raises `TestbedError` or `BrowserError` only if the testbed breaks; a load that fails is a
    result.
    """
    begun = time.monotonic()
    bed.tune(plan.stack, plan.network.rtt_ms)
    with browser.fresh_tab(plan.client, bed.coded(plan.page, plan.stack)) as tab:
        again = plan.block.connection != "first"
        primed = prime(bed, tab, plan) if again else None
        bed.resolve(plan.stack, plan.network.resolver, plan.block.seed, again=again)
        before = bed.origin.log()  # removes entries that belong to no visit
        wire = Wire(bed, browser.key_log, plan.client, plan.artefacts)
        bed.link.configure(plan.network, plan.block.seed, wire.record)
        with (
            forgotten_mtu(bed.spaces, plan.network),
            background(
                bed.spaces, bed.link, plan.network.background, plan.network.family
            ) as others,
        ):
            browser_cpu_s, queue, host = browser.cpu_s(), RunQueue(bed.spaces), HostMeter()
            navigated = time.monotonic()
            bed.link.start()
            loaded = tab.load(plan.page.url)
            ended, over_us = time.monotonic(), time.time() * 1e6
            link = bed.link.report()
            names = bed.resolver.report() if bed.resolver and plan.network.resolver else None
            host_report, threads = host.report(), queue.look()
            spent_s = _spent(browser_cpu_s, browser.cpu_s())
            bed.origin.look()
            bed.link.passthrough()  # connections still open close fast, and outside the visit
            if bed.resolver:
                bed.resolver.at_once()
            sent = others.stop()
        reading, slowdown = time.monotonic(), None
        if loaded.outcome == "loaded":
            read = tab.with_digests(loaded.exchanges, plan.block.seed)
            loaded = structs.replace(loaded, exchanges=read)
            slowdown = tab.slowdown()
        itself = browser.itself
        content_ms = (time.monotonic() - reading) * 1000
    bed.origin.close()  # the link lets the close through, so no browser keeps a dead connection
    if bed.kernel:
        bed.kernel.drop_half_open()
    log = without_afterwards(
        with_sockets(bed.origin.log(), loaded.sockets, plan.page),
        (e.request for e in loaded.exchanges),
        over_us,
    )
    loaded = with_server_word(loaded, log.requests)
    if plan.stack.loaded_by.stamps_early_late and plan.stack.transport == "quic":
        silent = not plan.stack.serving.says_early
        hosts = _sent_early(link, bed.places(plan.stack)) if silent else ()
        loaded = without_late_stamps(loaded, log.requests, hosts)
    origin_cpu_s = _more(before.cpu_s, log.cpu_s)
    if origin_cpu_s is None:  # a server that does not report it
        origin_cpu_s = threads.confined_ran_s("origin")
    timing = loaded.navigation
    document = loaded.outcome == "loaded"
    first_byte_ms = timing.responseStart or None  # 0 means not reached
    quiet_ms = plan.client.quiet_ms if document else 0.0
    requests = tuple(received(e) for e in loaded.exchanges)
    result = Visit(
        block=plan.block.id,
        attempt=plan.attempt,
        position=plan.block.order.index(plan.stack.name),
        page=plan.page.name,
        network=plan.network.name,
        stack=plan.stack.name,
        seed=plan.block.seed,
        connection=plan.block.connection,
        started_us=round(loaded.time_origin_s * 1e6),
        outcome=loaded.outcome,
        error=loaded.error,
        done=plan.page.done,
        plt_ms=loaded.done_ms if document else None,
        dcl_ms=timing.domContentLoadedEventEnd or None,
        ttfb_ms=first_byte_ms,
        connect_to_response_ms=_less(first_byte_ms, timing.connectStart),
        fcp_ms=loaded.fcp_ms,
        lcp_ms=loaded.lcp_ms,
        visual=visual(loaded.frames, loaded.blind_ms) if plan.client.frames else None,
        documents=loaded.documents,
        requests=requests,
        served=log.requests,
        sockets=tuple(s.socket for s in loaded.sockets),
        served_sockets=log.sockets,
        background=sent,
        known_misses=plan.known_misses,
        known_aborts=plan.known_aborts,
        rehearsed=plan.rehearsed,
        primed=primed.hosts if primed else None,
        primed_quic=primed.quic if primed else None,
        addresses=places(bed, plan, (*requests, *log.requests), link),
        authority=bed.origin.authority,
        issuers=issuers(loaded.exchanges),
        browser=itself,
        cpu_slowdown=slowdown,
        graph=loaded.graph,
        fast_open=loaded.fast_open,
        proxies=browser.proxies(),
        unmeasured=plan.stack.loaded_by.cannot_tell,
        connections=log.connections,
        congestion=log.congestion,
        link=link,
        names=names,
        host=_completed(host_report, threads, spent_s, origin_cpu_s),
        overhead=Overhead(
            prepare_ms=(navigated - begun) * 1000,
            before_navigation_ms=max(0.0, (loaded.time_origin_s - loaded.sent_s) * 1000),
            settle_ms=quiet_ms,
            collect_ms=(time.monotonic() - ended) * 1000,
            content_ms=content_ms,
        ),
    )
    wire.keep(result)
    return result, loaded


def prime(bed: Testbed, tab: Tab, plan: VisitPlan) -> PrimedHosts:
    """Load the page once, so that the tab's context gets session tickets. Then close every
    connection and return the hosts that answered over connections opened for them.

    The load has the visit's delay, because browser and origin remember round trips. It has no rate
    limit or loss, so chance plays no part.
    """
    bed.link.configure(_delay_only(plan.network), plan.block.seed)
    bed.resolve(plan.stack)
    primed = load_before(bed, tab, plan.page, plan.stack, plan.block.connection)
    if plan.stack.transport == "quic" and (rtts := plan.stack.loaded_by.drain_rtts):
        time.sleep(_LEAST_DRAIN_S + rtts * plan.network.rtt_ms / 1000)
    return primed


def load_before(
    bed: Testbed,
    tab: Tab,
    page: Page,
    stack: Stack,
    connection: ConnectionMode,
) -> PrimedHosts:
    """Make the load that precedes a repeat visit, and close its connections. Afterwards the link
    has no delay. Return the hosts that answered over connections opened for them."""
    before = tab.load(page.url)
    bed.link.passthrough()  # so that the ends of the connections arrive
    tab.load("about:blank")  # a page that is still loading would connect again
    bed.origin.close()
    log = bed.origin.log()
    _close_all(bed)  # a connection that ends in its handshake makes browsers avoid QUIC for a while
    if connection == "repeat":
        announced = {s.host for s in log.requests if s.end_us and s.url.startswith("https:")}
        told = sorted(announced) if stack.announces else ()
        tab.forget_cache(told, (page.url, *before.documents))
        _close_all(bed)
    return PrimedHosts(hosts=_with_own_connection(log), quic=_with_own_connection(log, over="h3"))


def _close_all(bed: Testbed) -> None:
    """Close the origin's connections until no browser opens another. After a page's end, browsers
    request again what was cut off, and handshakes that were under way end."""
    for _ in range(_CLOSINGS):
        bed.origin.close()
        time.sleep(_ASKS_AGAIN_S)
        log = bed.origin.log()
        if not (log.requests or log.connections):
            break


def _with_own_connection(log: OriginLog, over: Protocol | None = None) -> tuple[str, ...]:
    """Return the hosts for which a client can have tickets, because it opened a connection for
    them. `over` limits this to one protocol."""
    opened_for = {c.id: c.host for c in log.connections}
    answered = (s for s in log.requests if s.end_us and over in (None, s.protocol))
    return tuple(sorted({opened_for.get(s.connection) or s.host for s in answered}))


def places(
    bed: Testbed, plan: VisitPlan, asked: Iterable[Request | Served], link: LinkReport
) -> dict[str, str]:
    """Return the addresses at which the stack's server answers, by host: for the page's hosts, and
    for other hosts of the testbed that were requested or that packets went to."""
    wanted = {*plan.page.hosts, *(a.host for a in asked)}
    seen = {end.address for side in (link.up, link.down) for end in side.far_ends or ()}
    return {
        host: at
        for host, at in bed.places(plan.stack).items()
        if host in wanted or address_in(at) in seen
    }


def _sent_early(link: LinkReport, places: Mapping[str, str]) -> list[str]:
    """Return the hosts to which the link saw early data."""
    early = {end.address for end in link.up.far_ends or () if end.early_packets}
    return [host for host, at in places.items() if address_in(at) in early]


def issuers(exchanges: Iterable[Exchange]) -> dict[str, str]:
    """Return each issuer of a certificate, with the first URL that it vouched for."""
    found: dict[str, str] = {}
    for exchange in exchanges:
        if exchange.issuer:
            found.setdefault(exchange.issuer, exchange.request.url)
    return found


def _delay_only(network: Network) -> Network:
    def only(direction: Direction) -> Direction:
        return Direction(
            delay_ms=direction.delay_ms,
            delay_trace=direction.delay_trace,
            trace_offset_ms=direction.trace_offset_ms,
            grant=direction.grant,
        )

    return structs.replace(network, down=only(network.down), up=only(network.up), at=())


def _completed(
    host: HostReport, threads: TestbedTime, browser_cpu_s: float | None, origin_cpu_s: float | None
) -> HostReport:
    """Return the report completed with the CPU times of the testbed's parts, and with the time that
    remains for everything else."""
    known = structs.replace(
        host,
        browser_cpu_s=browser_cpu_s,
        origin_cpu_s=origin_cpu_s,
        link_cpu_s=threads.ran_s("link"),
        others_share=others_share(host, browser_cpu_s, origin_cpu_s),
        browser_wait_ms=threads.longest_ms("client"),
        server_wait_ms=threads.longest_ms("origin"),
    )
    return structs.replace(known, outside_cpu_s=outside_cpu_s(known))


def _less(end_ms: float | None, start_ms: float) -> float | None:
    return None if end_ms is None else end_ms - start_ms


def _more(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else after - before


def _spent(before: dict[int, float], after: dict[int, float]) -> float | None:
    if not after:
        return None
    return sum(cpu_s - before.get(process, 0.0) for process, cpu_s in after.items())
