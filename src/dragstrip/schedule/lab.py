"""A testbed with its browsers, kept open over many visits."""

import contextlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from dragstrip.browsers.driven import Driven
from dragstrip.browsers.load import Load
from dragstrip.browsers.registry import kind_of
from dragstrip.model.addresses import servers
from dragstrip.model.browsers import TODAY
from dragstrip.model.clock import NETWORK
from dragstrip.model.errors import InputError
from dragstrip.model.page import Page
from dragstrip.model.stack import ConnectionMode, Protocol, Stack
from dragstrip.model.study import Client, Study
from dragstrip.model.visit import OF_BROWSERS, Visit
from dragstrip.testbed.live import live_testbed
from dragstrip.testbed.net.layout import Layout, layouts
from dragstrip.testbed.net.namespaces import Namespaces
from dragstrip.testbed.testbed import Testbed, testbed_of
from dragstrip.visit.drive import VisitPlan, load_before, visit
from dragstrip.visit.rehearsal import Rehearsal, rehearsal

_Kind = tuple[str, Protocol, tuple[str, ...]]
"""Visits with the same browser and flags share it."""
_MOST_OPEN = 8
"""Browsers per lab. A Firefox takes about 400 MB; a guest has 6 GB."""


class Lab:
    """Made by `lab`. One browser per protocol and set of flags, started when first needed; the
    least recently used one makes room for another."""

    def __init__(
        self,
        bed: Testbed,
        client: Client,
        resources: contextlib.ExitStack,
        artefacts: Path | None = None,
        *,
        layouts: Mapping[str, Layout],
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
        self._warm: set[tuple[_Kind, str, str, str, str]] = set()
        self._resources = resources
        self._open: dict[_Kind, tuple[Driven, contextlib.ExitStack]] = {}
        """Least recently used first."""
        self._known_there: set[tuple[str, _Kind, ConnectionMode]] = set()
        """What was rehearsed in open browsers."""
        self._quic_flags: dict[str, tuple[str, ...]] = {}
        self._serving: Page | None = None
        self._rehearsed: dict[tuple[str, _Kind, ConnectionMode], Rehearsal] = {}

    @property
    def spaces(self) -> Namespaces:
        return self._bed.spaces

    def visit(self, plan: VisitPlan) -> tuple[Visit, Load]:
        """Make one visit. Raises `TestbedError` or `BrowserError` if the testbed breaks."""
        block = plan.block
        browser = self.rehearse(plan.page, plan.stack, block.connection)
        plan = replace(
            plan,
            known_misses=self._known(plan.page),
            rehearsed=self._fetched(plan.page, plan.stack, block.connection),
            artefacts=self._artefacts,
        )
        kind = self._kind(plan.page, plan.stack)
        warm = kind, block.page, block.network, block.connection, plan.stack.name
        if warm not in self._warm:
            self._warm.add(warm)
            for _ in range(self._warm_ups):
                visit(self._bed, browser, plan)
        return visit(self._bed, browser, plan)

    def rehearse(self, page: Page, stack: Stack, connection: ConnectionMode = "first") -> Driven:
        """The browser that visits the page with this stack, after one load without emulation, now
        or earlier, that does not count. Raises as `visit` does.

        It shows what the page asks for: which objects, and which addresses that its recording
        lacks. And it warms up process and page, which a first load would pay for. Where computing
        takes no time nobody pays: there one load in a browser of its own does for all protocols.
        """
        if page is not self._serving:
            if not page.live:
                self._bed.serve(page, self._layouts[page.name], think=self._think)
            self._serving = page
        kind = self._kind(page, stack)
        if not self._rehearses_each:
            if not self._rehearsals(page, stack, connection):
                with self._started(kind) as browser:
                    self._rehearse_in(browser, page, stack, kind, connection)
            return self._browser(kind)
        browser = self._browser(kind)
        if (page.digest, kind, connection) not in self._known_there:
            self._rehearse_in(browser, page, stack, kind, connection)
            self._known_there.add((page.digest, kind, connection))
        return browser

    def _rehearse_in(
        self, browser: Driven, page: Page, stack: Stack, kind: _Kind, connection: ConnectionMode
    ) -> None:
        self._bed.link.passthrough()
        self._bed.tune(stack)
        with browser.fresh_tab(self._client, self._bed.coded(page, stack)) as tab:
            if connection != "first":
                load_before(self._bed, tab, page, stack, connection)
            self._bed.origin.log()
            loaded = tab.load(page.url)
        self._bed.origin.close()
        found = rehearsal(page, loaded, self._bed.origin.log().requests)
        self._rehearsed[page.digest, kind, connection] = found

    def _known(self, page: Page) -> tuple[str, ...]:
        found = (r.misses for (digest, *_), r in self._rehearsed.items() if digest == page.digest)
        return tuple(sorted(frozenset().union(*found)))

    def _fetched(
        self, page: Page, stack: Stack, connection: ConnectionMode
    ) -> tuple[int, ...] | None:
        """What all successful rehearsals in the stack's browser fetched; None if none succeeded."""
        made = self._rehearsals(page, stack, connection)
        found = [r.fetched for r in made if r.fetched is not None]
        return tuple(sorted(frozenset.intersection(*found))) if found else None

    def _rehearsals(self, page: Page, stack: Stack, connection: ConnectionMode) -> list[Rehearsal]:
        """In the stack's browser, whatever the protocol."""
        return [
            r
            for (digest, kind, mode), r in self._rehearsed.items()
            if (digest, kind[0], mode) == (page.digest, stack.browser, connection)
        ]

    def _kind(self, page: Page, stack: Stack) -> _Kind:
        if page.live and stack.protocol == "h3":
            if page.url not in self._quic_flags:
                self._quic_flags[page.url] = self._where_quic_is(page)
            return stack.browser, "h3", self._quic_flags[page.url]
        told = kind_of(stack.browser).told(stack, self._bed.addresses, page.spoken)
        return stack.browser, stack.protocol, told

    def _browser(self, kind: _Kind) -> Driven:
        if kind in self._open:
            self._open[kind] = self._open.pop(kind)
            return self._open[kind][0]
        if len(self._open) >= _MOST_OPEN:
            self._close(next(iter(self._open)))
        own = self._resources.enter_context(contextlib.ExitStack())
        self._open[kind] = own.enter_context(self._started(kind)), own
        return self._open[kind][0]

    def _started(self, kind: _Kind) -> contextlib.AbstractContextManager[Driven]:
        browser, protocol, told = kind
        log = self._net_log(protocol)
        return kind_of(browser).start(self._bed, self._client, protocol, told, log)

    def _close(self, kind: _Kind) -> None:
        """A new one would be cold: it needs warm-up and rehearsal again."""
        _, own = self._open.pop(kind)
        own.close()
        self._known_there = {known for known in self._known_there if known[1] != kind}
        self._warm = {warm for warm in self._warm if warm[0] != kind}

    def _where_quic_is(self, page: Page) -> tuple[str, ...]:
        """Flags that force QUIC on the hosts of a live page that support it.

        Forced everywhere, the page would lose its other hosts. Raises `InputError`.
        """
        self._bed.link.passthrough()
        with (
            kind_of(TODAY).start(self._bed, self._client, "h3", (), None) as browser,
            browser.fresh_tab(self._client) as tab,
        ):
            tried = tab.load(page.url)
        hosts = {e.request.host for e in tried.exchanges if e.request.protocol == "h3"}
        if urlsplit(page.url).hostname not in hosts:
            raise InputError(f"{page.url} does not answer over HTTP/3; race it with other stacks")
        forced = ",".join(f"{host}:443" for host in sorted(hosts))
        return (f"--origin-to-force-quic-on={forced}",)

    def _net_log(self, protocol: Protocol) -> Path | None:
        """One file per started browser."""
        if not (self._artefacts and self._client.net_log):
            return None
        return self._artefacts / OF_BROWSERS / f"{protocol}-{time.time_ns() // 1_000_000}.json"


@contextlib.contextmanager
def lab(study: Study, artefacts: Path | None = None) -> Iterator[Lab]:
    """A lab that can serve every page of the study, or reach it if it is live.

    Its browsers' files go to `artefacts`.
    """
    live = any(page.live for page in study.pages)
    ca = Path(study.ca) if study.ca else None
    found = layouts(servers(page, study.addresses) for page in study.pages)
    with contextlib.ExitStack() as resources:
        bed = resources.enter_context(live_testbed(ca) if live else testbed_of(found))
        yield Lab(
            bed,
            study.client,
            resources,
            artefacts,
            layouts={page.name: layout for page, layout in zip(study.pages, found, strict=True)},
            think=study.think_time,
            warm_ups=study.warm_ups,
            rehearse_each=study.clock != NETWORK,
        )
