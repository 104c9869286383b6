"""Judges a single visit: did the testbed do what was asked of it?

Each check takes the evidence of one visit and yields reasons against it. A failure that the
requested conditions explain is a result, not a reason. Checks that compare visits are in
`block_checks`, `study_checks`.
"""

from collections.abc import Iterator

from msgspec import structs

from dragstrip.model.addresses import Addresses
from dragstrip.model.clock import REAL, Clock
from dragstrip.model.done import parse_done
from dragstrip.model.network import Network
from dragstrip.model.page import Page
from dragstrip.model.stack import Stack
from dragstrip.model.study import Study
from dragstrip.model.thresholds import Thresholds
from dragstrip.model.visit import Reason, Visit
from dragstrip.verdict import (
    cache_checks,
    carried_checks,
    clock_checks,
    coding_checks,
    content_checks,
    device_checks,
    discovery_checks,
    early_checks,
    ecn_checks,
    fast_open_checks,
    flight_checks,
    hint_checks,
    host_checks,
    link_checks,
    names_checks,
    nat_checks,
    path_checks,
    request_checks,
    server_checks,
    stack_checks,
    step_checks,
)
from dragstrip.verdict.picture import like_reference, recorded, watched
from dragstrip.visit import physics


class Judge:
    """Judges a study's visits one by one, in the order they were made.

    The order matters only for pictures: a page without a recorded picture is compared with its
    first valid visit.
    """

    def __init__(self, study: Study) -> None:
        self._study = study
        self._recorded: dict[str, bytes] = {}
        self._seen: dict[str, bytes] = {}
        """Final picture of each page's first valid visit, by page."""

    def judged(self, visit: Visit) -> Visit:
        """Return the visit with the reasons from its own evidence only."""
        study = self._study
        return with_verdict(
            visit,
            study.page(visit.page),
            study.network(visit.network),
            study.stack(visit.stack),
            study.thresholds,
            self._reference(visit.page),
            study.clock,
            study.addresses,
            study.client.cpu_slowdown,
        )

    def in_turn(self, visit: Visit) -> Visit:
        """Judge a visit and record it. Call this for the visits of a journal in order."""
        judged = self.judged(visit)
        self.saw(judged)
        return judged

    def saw(self, visit: Visit) -> None:
        """Record a judged visit: its picture may become the page's reference."""
        if visit.visual and visit.valid and visit.outcome == "loaded":
            self._seen.setdefault(visit.page, visit.visual.final)

    def _reference(self, page: str) -> bytes:
        """Return the reference picture of a page; empty if there is none, or no frames are
        recorded."""
        if not self._study.client.frames:
            return b""
        if page not in self._recorded:
            self._recorded[page] = recorded(self._study.page(page), self._study.client)
        return self._recorded[page] or self._seen.get(page, b"")


def with_verdict(
    visit: Visit,
    page: Page,
    network: Network,
    stack: Stack,
    limits: Thresholds,
    reference: bytes = b"",
    clock: Clock = REAL,
    addresses: Addresses = "one-each",
    slowdown: float = 1.0,
) -> Visit:
    """Return the visit with its outcome and reasons. `reference` is the page's picture (a
    `Visual.final`), empty if there is none."""
    outcome, error = content_checks.ended(visit, page)
    visit = structs.replace(visit, outcome=outcome, error=error)
    reasons = (
        *judge(visit, page, network, stack, limits, clock, addresses, slowdown),
        *like_reference(visit, reference, limits),
        *watched(visit, limits),
    )
    return structs.replace(visit, reasons=reasons, unchecked=unchecked(visit, page, stack))


def judge(
    visit: Visit,
    page: Page,
    network: Network,
    stack: Stack,
    limits: Thresholds,
    clock: Clock = REAL,
    addresses: Addresses = "one-each",
    slowdown: float = 1.0,
) -> tuple[Reason, ...]:
    """Return all reasons against the visit, most important first; empty if it is valid."""
    host = (
        link_checks.punctual(visit, limits, clock)
        if clock.virtual
        else _host(visit, network, stack, limits, slowdown)
    )
    return (
        *_reasons(visit, page, network, stack, limits),
        *server_checks.laid_out(visit, page, addresses),
        *server_checks.coalesced(visit, page, stack, addresses),
        *names_checks.resolved(visit, network, limits, clock),
        *host,
    )


def unchecked(visit: Visit, page: Page, stack: Stack) -> tuple[str, ...]:
    """Return in words the checks that cannot be made because the server's log or the browser lacks
    the data."""
    if not page.live:
        return (*stack.untold.values(), *_untold_by_browser(visit))
    return (
        "the protocols that the server saw",
        "that every stack received the same bytes",
        "resumed sessions",
        "the server's transport tuning, which is the site's own",
    )


def _untold_by_browser(visit: Visit) -> Iterator[str]:
    answered = [r for r in visit.requests if r.protocol and not r.from_cache]
    whole = parse_done(visit.done).whole
    for untold, what in (
        (not all(r.remote_ip for r in answered), "the address of each answer"),
        (answered and not visit.issuers, "who vouched for the servers' certificates"),
        (
            visit.rehearsed is None,
            "that the page requested all its objects: "
            + ("no rehearsal loaded" if whole else "it counts as loaded before"),
        ),
    ):
        if untold:
            yield what


def _reasons(
    visit: Visit, page: Page, network: Network, stack: Stack, limits: Thresholds
) -> Iterator[Reason]:
    yield from request_checks.protocol(visit, page, stack)
    if not page.live:
        yield from request_checks.agreement(visit, stack)
        yield from request_checks.replay(visit, page, limits)
        yield from request_checks.unanswered(visit, page, stack)
        yield from content_checks.as_recorded(visit, page, stack)
        yield from content_checks.complete(visit, page, limits)
        yield from coding_checks.coded(visit, page, stack)
        yield from stack_checks.transport(visit, network, stack)
        yield from carried_checks.carried(visit, stack)
        yield from hint_checks.early_hints(visit, stack)
    yield from request_checks.aborted(visit, limits)
    yield from discovery_checks.discovered(visit, network, stack)
    yield from discovery_checks.announced(visit, network, stack)
    yield from cache_checks.cold(visit, page, stack)
    yield from stack_checks.handshakes(visit, stack)
    yield from early_checks.early_data(visit, page, network, stack)
    yield from fast_open_checks.fast_open(visit, stack)
    yield from ecn_checks.ecn(visit, stack)
    yield from path_checks.origin(visit, network)
    yield from path_checks.one_family(visit, network)
    yield from path_checks.nothing_there(visit, network)
    yield from path_checks.crossed(visit)
    yield from path_checks.vouched(visit)
    yield from path_checks.direct(visit)
    yield from physics.possible(visit, network, stack, limits)
    heard = not (page.live or stack.untold)
    yield from link_checks.delivered(visit, network, limits, heard=heard)
    yield from step_checks.stepped(visit, network, limits)
    yield from flight_checks.flown(visit, network, limits)
    yield from nat_checks.rebound(visit, network, stack)
    yield from clock_checks.steady(visit, limits)
    yield from clock_checks.agreed(visit, network, limits)


def _host(
    visit: Visit, network: Network, stack: Stack, limits: Thresholds, slowdown: float
) -> Iterator[Reason]:
    yield from device_checks.slowed(visit, slowdown, limits)
    yield from host_checks.on_time(visit, network, limits)
    yield from host_checks.heated(visit, limits)
    yield from host_checks.waited(visit, network, stack, limits)
    yield from host_checks.crowded(visit, network, stack, limits)
    yield from host_checks.stolen(visit, network, stack, limits)
