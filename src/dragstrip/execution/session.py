"""A testbed session: namespaces, link, origin and browsers, kept open over many visits."""

import contextlib
import hashlib
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Literal

from msgspec import structs

from dragstrip.browsers.driven import Driven
from dragstrip.browsers.load import Load
from dragstrip.execution.open_browsers import OpenBrowser, OpenBrowsers
from dragstrip.execution.orders import MadeVisit, Visitor, VisitOrder
from dragstrip.model.addresses import servers
from dragstrip.model.clock import NETWORK
from dragstrip.model.family import Family
from dragstrip.model.names import Transport
from dragstrip.model.page import Page
from dragstrip.model.stack import ConnectionMode, Stack
from dragstrip.model.study import Client, Study
from dragstrip.model.visit import Visit
from dragstrip.testbed.live import live_testbed
from dragstrip.testbed.net.layout import Layout, layouts
from dragstrip.testbed.net.namespaces import Namespaces
from dragstrip.testbed.precedence import precedence
from dragstrip.testbed.testbed import Testbed, testbed_of
from dragstrip.visit.drive import VisitPlan, load_before, visit
from dragstrip.visit.host import Patience, outside_share
from dragstrip.visit.rehearsal import Rehearsal, rehearsal

_OUTSIDE_SHARE = 0.06
"""A machine counts as busy if processes outside the testbed use more than this share of its CPU
time. They used at most 4 % on a quiet machine, and 8 % or more while a program of
bench/visits/held_up.py kept it busy."""


@contextlib.contextmanager
def visit_session(
    study: Study, artefacts: Path | None = None, rehearsed: Collection[str] = ()
) -> Iterator[Visitor]:
    """Open a session and rehearse the pages of `rehearsed`. Other pages are rehearsed before their
    first visit.

    Files of a whole browser (its NetLog) go to `artefacts`. Raises `TestbedError` and
    `BrowserError`.

    On a busy machine all of a block's visits get precedence for their processes, or none does. So
    all stacks are treated alike.
    """
    with open_session(study, artefacts) as session, precedence(session.spaces) as ahead:
        start = _start()
        for page, family in product(rehearsed, families(study)):
            for stack in study.visited:
                for connection in study.connections:
                    for ask in _ways_to_ask(study):
                        session.rehearse(study.page(page), stack, connection, family, ask)
        patience = Patience()
        last: Visit | None = None
        block: tuple[str, int] | None = None

        def visit(order: VisitOrder) -> MadeVisit:
            nonlocal last, block
            if block != (order.block.id, order.attempt):
                block = order.block.id, order.attempt
                # In a guest nothing else runs.
                ahead.keep(not study.clock.virtual and wants_precedence(last))
                if order.attempt and not ahead.taken:
                    patience.await_quiet(study.thresholds)  # the main reason for reruns
            result = session.visit(
                VisitPlan(
                    block=order.block,
                    attempt=order.attempt,
                    page=study.page(order.block.page),
                    network=study.network(order.block.network),
                    stack=study.stack(order.stack),
                    client=study.client,
                )
            )
            last, load = result
            return structs.replace(last, testbed=start), load

        yield visit


def _ways_to_ask(study: Study) -> list[Transport]:
    """How the study's clients ask for names, each way once."""
    return list(dict.fromkeys(network.ask for network in study.networks))


def _start() -> str:
    """Return id of this start of the testbed, see `dragstrip.model.visit.Visit.testbed`."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_bytes()
    digest = hashlib.sha256(b"dragstrip:" + boot).hexdigest()[:8]
    return f"{digest}.{time.time_ns() // 1_000_000}"


def wants_precedence(last: Visit | None) -> bool:
    """Return whether the next block needs precedence, because other processes used the CPU during
    the last visit. The first block gets none: a testbed that has just opened uses the CPU itself.

    The CPU time of the link and of dragstrip does not count, because over a fast link they use a
    tenth of two CPUs.
    """
    outside = outside_share(last.host) if last and last.host else None
    return outside is not None and outside > _OUTSIDE_SHARE


@contextlib.contextmanager
def open_session(study: Study, artefacts: Path | None = None) -> Iterator["Session"]:
    """Open a session for all pages of the study. The session serves recorded pages itself, and
    loads live pages from the internet. Files of its browsers go to `artefacts`."""
    live = any(page.live for page in study.pages)
    ca = Path(study.ca) if study.ca else None
    placed: dict[tuple[str, Family], Layout] = {}
    for family in families(study):
        made = layouts((servers(page, study.addresses) for page in study.pages), family)
        names = (page.name for page in study.pages)
        placed |= {(name, family): layout for name, layout in zip(names, made, strict=True)}
    with contextlib.ExitStack() as resources:
        bed = resources.enter_context(
            live_testbed(ca)
            if live
            else testbed_of(
                [*placed.values()],
                resolves=any(n.resolver for n in study.networks),
                broken_ipv6=any(n.broken_ipv6 for n in study.networks),
            )
        )
        yield Session(
            bed,
            study.client,
            resources,
            artefacts,
            layouts=placed,
            think=study.think_time,
            warm_ups=study.warm_ups,
            rehearse_each=study.clock != NETWORK,
        )


def families(study: Study) -> list[Family]:
    """The address families of the study's networks. A testbed has IPv6 only if one needs it."""
    return sorted({network.family for network in study.networks})


class Session:
    """An open testbed with its browsers, which `open_session` makes.

    The session serves pages, and rehearses each page before its first visit.
    """

    def __init__(
        self,
        bed: Testbed,
        client: Client,
        resources: contextlib.ExitStack,
        artefacts: Path | None = None,
        *,
        layouts: Mapping[tuple[str, Family], Layout],
        think: bool = False,
        warm_ups: int = 0,
        rehearse_each: bool = True,
    ) -> None:
        self._bed = bed
        self._layouts = layouts
        self._artefacts = artefacts
        self._client = client
        self._think = think
        self._warm_ups = warm_ups
        self._rehearses_each = rehearse_each
        self._browsers = OpenBrowsers(bed, client, resources, artefacts, closed=self._forget)
        self._warm: set[tuple[OpenBrowser, str, str, str, str]] = set()
        self._known_there: set[tuple[str, OpenBrowser, ConnectionMode]] = set()
        """Combinations of page digest, browser and connection mode that were rehearsed in open
        browsers."""
        self._serving: tuple[Page, Family] | None = None
        self._rehearsed: dict[tuple[str, OpenBrowser, ConnectionMode], Rehearsal] = {}

    @property
    def spaces(self) -> Namespaces:
        return self._bed.spaces

    def visit(self, plan: VisitPlan) -> tuple[Visit, Load]:
        """Make one visit. Raises `TestbedError` or `BrowserError` if the testbed breaks."""
        block = plan.block
        network, ask = plan.network, plan.network.ask
        browser = self.rehearse(plan.page, plan.stack, block.connection, network.family, ask)
        plan = replace(
            plan,
            known_misses=self._known(plan.page, "misses"),
            known_aborts=self._known(plan.page, "aborted"),
            rehearsed=self._fetched(plan.page, plan.stack, block.connection),
            artefacts=self._artefacts,
        )
        needed = self._browsers.needed(plan.page, plan.stack, ask)
        warm = needed, block.page, block.network, block.connection, plan.stack.name
        if warm not in self._warm:
            self._warm.add(warm)
            for _ in range(self._warm_ups):
                visit(self._bed, browser, plan)
        return visit(self._bed, browser, plan)

    def rehearse(
        self,
        page: Page,
        stack: Stack,
        connection: ConnectionMode = "first",
        family: Family = 4,
        ask: Transport = "none",
    ) -> Driven:
        """Rehearse the page unless that is done, and return the browser that visits it with this
        stack. Raises as `visit` does.

        A rehearsal is a load without emulation that does not count. It shows which objects the page
        requests, and which URLs its recording lacks. It also warms up the browser process and the
        page. With the clock `network`, in which computing takes no time, one rehearsal in a
        separate browser serves all protocols. With other clocks each browser rehearses by itself.
        """
        if self._serving is None or page is not self._serving[0] or family != self._serving[1]:
            if not page.live:
                self._bed.serve(page, self._layouts[page.name, family], think=self._think)
            self._serving = page, family
        needed = self._browsers.needed(page, stack, ask)
        if not self._rehearses_each:
            if not self._rehearsals(page, stack, connection):
                with self._browsers.started(needed) as browser:
                    self._rehearse_in(browser, page, stack, needed, connection)
            return self._browsers.get(needed)
        browser = self._browsers.get(needed)
        if (page.digest, needed, connection) not in self._known_there:
            self._rehearse_in(browser, page, stack, needed, connection)
            self._known_there.add((page.digest, needed, connection))
        return browser

    def _rehearse_in(
        self,
        browser: Driven,
        page: Page,
        stack: Stack,
        opened: OpenBrowser,
        connection: ConnectionMode,
    ) -> None:
        self._bed.link.passthrough()
        self._bed.tune(stack)
        self._bed.resolve(stack)
        with browser.fresh_tab(self._client, self._bed.coded(page, stack)) as tab:
            if connection != "first":
                load_before(self._bed, tab, page, stack, connection)
            self._bed.origin.log()
            loaded = tab.load(page.url)
        self._bed.origin.close()
        rehearsed = rehearsal(page, loaded, self._bed.origin.log().requests)
        self._rehearsed[page.digest, opened, connection] = rehearsed

    def _known(self, page: Page, what: Literal["misses", "aborted"]) -> tuple[str, ...]:
        """Return the addresses of which any rehearsal of the page says this."""
        of_page = (r for (digest, *_), r in self._rehearsed.items() if digest == page.digest)
        found: frozenset[str] = frozenset().union(*(getattr(r, what) for r in of_page))
        return tuple(sorted(found))

    def _fetched(
        self, page: Page, stack: Stack, connection: ConnectionMode
    ) -> tuple[int, ...] | None:
        """Return the numbers of the objects that all successful rehearsals in the stack's browser
        fetched; None if no rehearsal succeeded."""
        rehearsals = self._rehearsals(page, stack, connection)
        fetched = [r.fetched for r in rehearsals if r.fetched is not None]
        return tuple(sorted(frozenset.intersection(*fetched))) if fetched else None

    def _rehearsals(self, page: Page, stack: Stack, connection: ConnectionMode) -> list[Rehearsal]:
        """Return the page's rehearsals in the stack's browser, over any protocol."""
        return [
            r
            for (digest, opened, mode), r in self._rehearsed.items()
            if (digest, opened[0], mode) == (page.digest, stack.browser, connection)
        ]

    def _forget(self, closed: OpenBrowser) -> None:
        """Forget what a closed browser rehearsed: a new one is cold and needs warm-up and rehearsal
        again."""
        self._known_there = {known for known in self._known_there if known[1] != closed}
        self._warm = {warm for warm in self._warm if warm[0] != closed}
