"""Replays a page without emulation and compares the load with the recording. Then visits the page
as a race does, to say in advance why a race would not count its loads."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct, structs

from dragstrip.browsers.chromium import ChromiumTab
from dragstrip.browsers.driven import Driven
from dragstrip.browsers.registry import kind_of
from dragstrip.model.addresses import servers
from dragstrip.model.browsers import TODAY, find_browser
from dragstrip.model.clock import REAL, Clock
from dragstrip.model.network import Network
from dragstrip.model.page import Page
from dragstrip.model.stack import Protocol, Stack
from dragstrip.model.study import Block, Client
from dragstrip.model.thresholds import DEFAULTS
from dragstrip.model.visit import Outcome, Request, Served
from dragstrip.pages.fidelity import Fidelity, fidelity
from dragstrip.pages.format.archive import read_screenshot
from dragstrip.pages.picture import Distance, distance
from dragstrip.testbed.net.layout import layouts
from dragstrip.testbed.testbed import Testbed, testbed_of
from dragstrip.verdict.judge import with_verdict
from dragstrip.visit.drive import VisitPlan, visit

CHECKED_PROTOCOLS: tuple[Protocol, ...] = ("h1", "h2", "h3")
_LINK = Network.parse("100mbit/100mbit/10ms/0%/200ms")
"""A network that is fast, but slow enough for every check of the verdict to apply."""
_OF_THE_MACHINE = ("overloaded", "link-drift", "clock-jump")
_SETTLE_MS = 2000.0
"""Time in ms after the load until the picture is taken, as in a recording."""


class Check(Struct, frozen=True, kw_only=True):
    """The result of one replay."""

    protocol: Protocol
    outcome: Outcome
    error: str
    fidelity: Fidelity
    """Comparison with the requests recorded before the recorded load event, or with all requests if
    there was no load event. A request that only the nearest query answered counts as requested."""
    requests: int
    """Number of requests that reached the origin."""
    answers: dict[str, int]
    """Number of requests by how the recording answered them, see `Served.match`."""
    missed: tuple[str, ...]
    """URLs that the recording could not answer."""
    served_bytes: int
    """Bytes of the bodies of all answers."""
    silent: tuple[str, ...]
    """WebSockets that the recording lacks: they open and stay silent."""
    documents: tuple[str, ...]
    """URLs of the documents that the tab showed; several if the page navigates by itself."""
    refusals: tuple[str, ...]
    """Why a race on any machine would not count the page's loads; empty if it would."""
    screenshot: bytes
    """The final picture (PNG); empty if the load did not end, and in browsers other than
    Chromium."""
    distance: Distance | None
    """Distance from the recorded picture; None unless both pictures exist."""

    @property
    def answered_share(self) -> float:
        """Share of the page's current requests that the recording answers."""
        return 1 - len(self.missed) / self.requests if self.requests else 1.0


def check(page: Page, client: Client, clock: Clock = REAL, browser: str = TODAY) -> Iterator[Check]:
    """Replay `page` in this browser, over each protocol in turn. Raises `TestbedError`,
    `BrowserError`."""
    reference = read_screenshot(page)
    patient = structs.replace(client, quiet_ms=_SETTLE_MS)
    (layout,) = layouts([servers(page, "recorded")])
    kind = kind_of(browser)
    with testbed_of([layout]) as bed:
        bed.serve(page, layout)
        bed.link.passthrough()
        for protocol in protocols_of(browser):
            stack = Stack(name=protocol, protocol=protocol, browser=browser)
            bed.origin.tune(stack)
            bed.origin.log()
            settings = kind.settings(stack, bed.addresses, page.spoken)
            with kind.start(bed, client, protocol, settings, None) as started:
                with started.fresh_tab(patient, page) as tab:
                    loaded = tab.load(page.url)
                    ended = loaded.outcome == "loaded"
                    picture = tab.screenshot() if ended and isinstance(tab, ChromiumTab) else b""
                bed.origin.close()
                log = bed.origin.log()
                served = log.requests
                refusals = (
                    tuple(_refusals(bed, started, page, stack, client, clock, served))
                    if ended
                    else (f"it does not load: {loaded.error or loaded.outcome}",)
                )
                bed.link.passthrough()
            yield Check(
                protocol=protocol,
                outcome=loaded.outcome,
                error=loaded.error,
                **_held_against(page, served),
                documents=loaded.documents,
                silent=tuple(s.url for s in log.sockets if not s.recorded),
                refusals=refusals,
                screenshot=picture,
                distance=distance(reference, picture) if reference and picture else None,
            )


def protocols_of(browser: str) -> tuple[Protocol, ...]:
    """Return the protocols of `CHECKED_PROTOCOLS` that the browser speaks. Raises `ValueError` if
    there is no such browser."""
    speaks = find_browser(browser).speaks
    return tuple(p for p in CHECKED_PROTOCOLS if p in speaks)


def _refusals(
    bed: Testbed,
    browser: Driven,
    page: Page,
    stack: Stack,
    client: Client,
    clock: Clock,
    rehearsed: Sequence[Served],
) -> Iterator[str]:
    """Yield the verdict's reasons against a visit like those of a race. `rehearsed` are the
    requests of an earlier load."""
    block = Block(page=page.name, network=_LINK.name, index=0, seed=0, order=(stack.name,))
    misses = tuple(sorted({s.address for s in rehearsed if s.match == "miss"}))
    plan = VisitPlan(
        block=block,
        attempt=0,
        page=page,
        network=_LINK,
        stack=stack,
        client=client,
        known_misses=misses,
    )
    made, _ = visit(bed, browser, plan)
    judged = with_verdict(made, page, _LINK, stack, DEFAULTS, clock=clock)
    if judged.outcome != "loaded":
        yield f"it is {judged.outcome}: {judged.error or 'see what was not in the recording'}"
    yield from (f"{r.code}: {r.detail}" for r in judged.reasons if r.code not in _OF_THE_MACHINE)


def _held_against(page: Page, served: Sequence[Served]) -> dict[str, Any]:
    """Compare the replay with the recording, using the origin's log, so that workers and frames
    count as well."""
    due = [r for r in page.resources if page.load_ms is None or r.start_ms <= page.load_ms]
    before_load = structs.replace(page, resources=tuple(due))
    served = [s for s in served if s.match != "misdirected"]
    return {
        "fidelity": fidelity(before_load, _as_recorded(page, served)),
        "requests": len(served),
        "answers": dict(Counter(s.match for s in served)),
        "missed": tuple(s.url for s in served if s.match == "miss"),
        "served_bytes": sum(s.body_bytes for s in served),
    }


def _as_recorded(page: Page, served: Sequence[Served]) -> list[Request]:
    """Return the requests of the replay. A request that only the nearest query answered has the
    recorded URL."""
    free = Counter((r.method, r.url) for r in page.resources)
    free.subtract((s.method, s.url) for s in served if s.match == "exact")
    near: dict[tuple[str, str], list[str]] = {}
    for resource in page.resources:
        if free[resource.method, resource.url] > 0:
            free[resource.method, resource.url] -= 1
            near.setdefault((resource.method, resource.address), []).append(resource.url)
    requests = []
    for line in served:
        others = near.get((line.method, line.address)) if line.match == "query" else None
        url = others.pop(0) if others else line.url
        requests.append(
            Request(
                url=url,
                host=line.host,
                method=line.method,
                protocol=line.protocol,
                start_ms=line.t_us / 1000,
            )
        )
    return requests
