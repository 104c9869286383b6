"""One visit: set the link and the origin, load the page, gather all evidence, judge."""

import time
from dataclasses import dataclass
from pathlib import Path

from msgspec import structs

from dragstrip.browsers.load import Load
from dragstrip.browsers.tabs import Driven, fresh_tab, load
from dragstrip.model.browsers import CANNOT_TELL
from dragstrip.model.network import Direction, Network
from dragstrip.model.page import Page
from dragstrip.model.stack import Stack
from dragstrip.model.study import Block, Client
from dragstrip.model.thresholds import Thresholds
from dragstrip.model.visit import Overhead, Visit
from dragstrip.testbed.background import background
from dragstrip.testbed.testbed import Testbed
from dragstrip.visit.frames import visual
from dragstrip.visit.host import HostMeter, others_share
from dragstrip.visit.picture import like_reference, watched
from dragstrip.visit.run_queue import RunQueue
from dragstrip.visit.server_word import with_server_word
from dragstrip.visit.verdict import judge, unchecked
from dragstrip.visit.wire import Wire


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a visit is to be."""

    block: Block
    attempt: int
    page: Page
    network: Network
    stack: Stack
    client: Client
    thresholds: Thresholds
    known_misses: tuple[str, ...] = ()
    reference: bytes = b""
    """The page's reference picture, see `dragstrip.model.visit.Visual.final`."""
    artefacts: Path | None = None
    """The capsule, for what the client asks to keep of the wire; None keeps nothing."""


def visit(bed: Testbed, browser: Driven, plan: Plan) -> tuple[Visit, Load]:
    """Make the visit. The `Load` carries the headers, for a HAR.

    Raises `TestbedError` or `CdpError` only if the testbed breaks; a load that fails is a result.
    """
    begun = time.monotonic()
    bed.tune(plan.stack, plan.network.rtt_ms)
    with fresh_tab(browser, plan.client, plan.page.recorded_ms) as session:
        if plan.block.connection != "first":
            prime(bed, browser, session, plan)
        before = bed.origin.log()  # drop what belongs to nobody
        wire = Wire(bed, browser.key_log, plan.client, plan.artefacts)
        bed.link.configure(plan.network, plan.block.seed, wire.record)
        with background(bed.spaces, bed.link, plan.network.background) as others:
            browser_cpu_s, queue, host = browser.cpu_s(), RunQueue(bed.spaces), HostMeter()
            navigated = time.monotonic()
            loaded = load(browser, session, plan.page.url, plan.client)
            ended = time.monotonic()
            link = bed.link.report()
            host_report, waits = host.report(), queue.longest_ms()
            spent_s = _spent(browser_cpu_s, browser.cpu_s())
            bed.link.passthrough()  # what is still open closes fast, and outside the visit
            sent = others.stop()
    bed.origin.close()  # the link lets it through, so no browser is left with a dead connection
    log = bed.origin.log()
    loaded = with_server_word(loaded, log.requests)
    origin_cpu_s = _more(before.cpu_s, log.cpu_s)
    timing = loaded.navigation
    document = loaded.outcome == "loaded"
    quiet_ms = plan.client.quiet_ms if document else 0.0
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
        plt_ms=timing.loadEventEnd if document else None,
        dcl_ms=timing.domContentLoadedEventEnd if document else None,
        ttfb_ms=timing.responseStart if document else None,
        connect_to_response_ms=timing.responseStart - timing.connectStart if document else None,
        fcp_ms=loaded.fcp_ms,
        lcp_ms=loaded.lcp_ms,
        visual=visual(loaded.frames, loaded.blind_ms) if plan.client.frames else None,
        requests=tuple(e.request for e in loaded.exchanges),
        served=log.requests,
        background=sent,
        known_misses=plan.known_misses,
        connections=log.connections,
        link=link,
        host=structs.replace(
            host_report,
            browser_cpu_s=spent_s,
            origin_cpu_s=origin_cpu_s,
            others_share=others_share(host_report, spent_s, origin_cpu_s),
            browser_wait_ms=waits.get("client"),
            server_wait_ms=waits.get("origin"),
        ),
        overhead=Overhead(
            prepare_ms=(navigated - begun) * 1000,
            before_navigation_ms=max(0.0, (loaded.time_origin_s - loaded.sent_s) * 1000),
            settle_ms=quiet_ms,
            collect_ms=(time.monotonic() - ended) * 1000,
        ),
    )
    result = structs.replace(
        result,
        unchecked=unchecked(plan.page, plan.stack),
        unmeasured=CANNOT_TELL.get(plan.stack.browser, ()),
    )
    reasons = (
        *judge(result, plan.page, plan.network, plan.stack, plan.thresholds),
        *like_reference(result, plan.reference, plan.thresholds),
        *watched(result, plan.thresholds),
    )
    judged = structs.replace(result, reasons=reasons)
    wire.keep(judged)
    return judged, loaded


def prime(bed: Testbed, browser: Driven, session: str, plan: Plan) -> None:
    """Load the page once, so that the tab's context holds tickets, and end every connection.

    At the visit's delay, for what browser and origin remember of a round trip, but without rate or
    loss: nothing of the load itself must be left to luck.
    """
    bed.link.configure(_delay_only(plan.network), plan.block.seed)
    load(browser, session, plan.page.url, plan.client)
    bed.link.passthrough()  # so that the ends of the connections arrive
    bed.origin.close()
    load(browser, session, "about:blank", plan.client)
    if plan.block.connection == "repeat":
        browser.forget_cache(session)


def _delay_only(network: Network) -> Network:
    def only(direction: Direction) -> Direction:
        return Direction(delay_ms=direction.delay_ms)

    return structs.replace(network, down=only(network.down), up=only(network.up))


def _more(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else after - before


def _spent(before: dict[int, float], after: dict[int, float]) -> float | None:
    if not after:
        return None
    return sum(cpu_s - before.get(process, 0.0) for process, cpu_s in after.items())
