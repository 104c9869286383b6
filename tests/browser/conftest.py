"""A testbed with one browser per protocol, shared by the tests of this folder."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from dragstrip.browsers import bodies
from dragstrip.browsers.driven import Driven
from dragstrip.browsers.load import Load
from dragstrip.browsers.place import BrowserSettings
from dragstrip.browsers.registry import kind_of
from dragstrip.model.browsers import TODAY
from dragstrip.model.network import Network
from dragstrip.model.page import Page
from dragstrip.model.stack import ConnectionMode, Protocol, Stack
from dragstrip.model.study import Block, Client
from dragstrip.model.thresholds import Thresholds
from dragstrip.model.visit import Visit
from dragstrip.pages.format.archive import write_page
from dragstrip.pages.generators.synth import synth
from dragstrip.study.presets import find_stack
from dragstrip.testbed.testbed import Testbed, testbed
from dragstrip.verdict.judge import with_verdict
from dragstrip.visit.drive import VisitPlan, visit
from dragstrip.visit.host import Patience
from strict import STRICT

NETWORK = Network.parse("10mbit/10mbit/10ms/0%/200ms")
CLIENT = Client(timeout_s=20)
LENIENT = Thresholds(steal_share=1, others_share=1, precedence_share=1, wait_ms=1e6)
"""Thresholds for what shows on a busy machine as well."""
STOLEN_FROM = Thresholds(steal_share=1)
BUSY = {"overloaded", "link-drift"}
"""A busy machine's word on itself; no lie of a stack or of a server shows as these."""
_PATIENCE = Patience(at_most_s=600 if STRICT else 120, share=0)
"""Patience of all tests together, or a machine that is never quiet would keep them for hours."""
_MOST_OPEN = 6
"""Browsers of a testbed: a Firefox takes 400 MB."""
_ATTEMPTS = 12
"""Attempts at a visit: on a machine that looks quiet, a few in a row may be disturbed for a
moment."""
_AT_ONCE = 3
"""Attempts before a busy machine is waited for: most of the time it was a moment only."""


def plan_of(
    page: Page,
    stack: Stack,
    *,
    network: Network = NETWORK,
    connection: ConnectionMode = "first",
    client: Client = CLIENT,
    artefacts: Path | None = None,
    rehearsed: tuple[int, ...] | None = None,
    seed: int = 7,
) -> VisitPlan:
    """A visit in its own block."""
    block = Block(
        page=page.name,
        network=network.name,
        index=0,
        seed=seed,
        order=(stack.name,),
        connection=connection,
    )
    return VisitPlan(
        block=block,
        attempt=0,
        page=page,
        network=network,
        stack=stack,
        client=client,
        artefacts=artefacts,
        rehearsed=rehearsed,
    )


def judged(
    bed: Testbed,
    browser: Driven,
    plan: VisitPlan,
    limits: Thresholds = STOLEN_FROM,
    reference: bytes = b"",
) -> tuple[Visit, Load]:
    """A visit with its verdict, and the browser's `Load`."""
    made, load = visit(bed, browser, plan)
    verdict = with_verdict(made, plan.page, plan.network, plan.stack, limits, reference)
    return verdict, load


def told(made: Visit) -> list[str]:
    """The reasons against a visit, without those that a busy machine causes: it interrupts a
    browser between the readings of its two clocks."""
    busy = BUSY | {"clock-jump"} if "overloaded" in made.verdict else BUSY
    return [f"{r.code}: {r.detail}" for r in made.reasons if r.code not in busy]


OTHER_SITE = "www.other.test"
"""A host of another site than the pages'."""


class Track:
    """A testbed whose parts a test may replace by lying ones."""

    def __init__(self, bed: Testbed, folder: Path, resources: ExitStack) -> None:
        self.bed = bed
        self.folder = folder
        self._resources = resources
        self._open: dict[tuple[object, ...], tuple[Driven, ExitStack]] = {}
        """Least recently used first."""

    def browser(
        self,
        protocol: Protocol,
        *told: str,
        browser: str = TODAY,
        client: Client = CLIENT,
        every_root: bool = False,
    ) -> Driven:
        """A browser that speaks this protocol, and stays open for all tests that need the same
        one."""
        key = browser, protocol, told, client, every_root
        if key not in self._open:
            if len(self._open) >= _MOST_OPEN:
                self._open.pop(next(iter(self._open)))[1].close()
            own = self._resources.enter_context(ExitStack())
            settings = BrowserSettings(told, every_root=every_root)
            start = kind_of(browser).start(self.bed, client, protocol, settings, None)
            self._open[key] = own.enter_context(start), own
        self._open[key] = self._open.pop(key)
        return self._open[key][0]

    def page(self, spec: str, hosts: int = 1) -> Page:
        path = self.folder / f"{spec}-{hosts}.har.zip"
        return write_page(path, synth(spec, hosts=hosts))

    def visit(
        self,
        stack: str,
        page: Page,
        *,
        network: Network = NETWORK,
        browser: Driven | None = None,
        serve: bool = True,
        bed: Testbed | None = None,
        limits: Thresholds = LENIENT,
        client: Client = CLIENT,
        patient: bool = True,
        connection: ConnectionMode = "first",
        rehearsed: tuple[int, ...] | None = None,
        seed: int = 7,
    ) -> Visit:
        """A visit during which the host kept up. Skips if the host never does, because then no lie
        shows. Without `patient`, a visit however busy the host was."""
        if serve:
            self.bed.origin.serve(page)
        plan = plan_of(
            page,
            find_stack(stack),
            network=network,
            connection=connection,
            client=client,
            rehearsed=rehearsed,
            seed=seed,
        )
        used = browser or self.browser(plan.stack.protocol)
        for attempt in range(_ATTEMPTS):
            made, _ = judged(bed or self.bed, used, plan, limits)
            if not patient or "overloaded" not in made.verdict:
                return made
            if attempt >= _AT_ONCE:
                _PATIENCE.await_quiet(Thresholds())
        pytest.skip(f"this machine is too busy: {made.reasons[-1].detail}")


class LyingLink:
    """Passes everything on to the real link, but configures another network."""

    def __init__(self, bed: Testbed, lie: Callable[[Network], Network]) -> None:
        self._link = bed.link
        self._lie = lie
        self.report = bed.link.report
        self.passthrough = bed.link.passthrough
        self.start = bed.link.start

    def configure(self, network: Network, seed: int, record: Path | None = None) -> None:
        self._link.configure(self._lie(network), seed, record)


def lying(bed: Testbed, **down: object) -> Testbed:
    """The testbed with a link that has another downstream than requested."""

    def lie(network: Network) -> Network:
        return structs.replace(network, down=structs.replace(network.down, **down))

    return replace(bed, link=LyingLink(bed, lie))


@contextmanager
def open_track(folder: Path) -> Iterator[Track]:
    hosts = write_page(folder / "hosts.har.zip", synth("4x1KB", hosts=4)).hosts
    with ExitStack() as resources:
        sites = (*hosts, OTHER_SITE)
        yield Track(resources.enter_context(testbed(sites)), folder, resources)


@pytest.fixture(autouse=True, scope="module")
def _bodies_are_awaited() -> Iterator[None]:
    """Makes the browser report the body of each object in the sample, however busy the machine
    is."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(bodies, "_PATIENCE_S", 20.0)
        yield


@pytest.fixture(scope="module")
def track(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Track]:
    with open_track(tmp_path_factory.mktemp("pages")) as opened:
        yield opened


@pytest.fixture(scope="module")
def bed(page: Page) -> Iterator[Testbed]:
    """A testbed that serves the `page` of the test's module behind `NETWORK`."""
    with testbed(page.hosts) as opened:
        opened.origin.serve(page)
        opened.link.configure(NETWORK, 1)
        yield opened


@pytest.fixture
def codes() -> Callable[[Visit], set[str]]:
    return lambda made: {r.code for r in made.reasons}


__all__ = ["BUSY", "NETWORK", "Track", "lying", "plan_of", "structs", "told"]
