"""Replay a page without emulation and hold what happens against its recording."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct, structs

from dragstrip.browsers.chromium import chromium
from dragstrip.browsers.record import screenshot
from dragstrip.model.page import Page
from dragstrip.model.stack import Protocol, Stack
from dragstrip.model.study import Client
from dragstrip.model.visit import Outcome, Request, Served
from dragstrip.pages.fidelity import Fidelity, fidelity
from dragstrip.pages.format.archive import read_screenshot
from dragstrip.pages.picture import Distance, distance
from dragstrip.testbed.testbed import testbed

CHECKED_PROTOCOLS: tuple[Protocol, ...] = ("h1", "h2", "h3")
_SETTLE_MS = 2000.0
"""Until the picture is taken, as when recording."""


class Check(Struct, frozen=True, kw_only=True):
    """One replay."""

    protocol: Protocol
    outcome: Outcome
    error: str
    fidelity: Fidelity
    """Of the recorded requests that were made before the recorded load event, if there was one.
    What the nearest query answered counts as asked for."""
    requests: int
    """All that reached the origin."""
    answers: dict[str, int]
    """Requests by how the recording answered them, see `Served.match`."""
    missed: tuple[str, ...]
    """What the recording could not answer."""
    served_bytes: int
    """Bodies of all answers."""
    screenshot: bytes
    """PNG; empty if the load did not end."""
    distance: Distance | None
    """From the recorded picture; None without one."""

    @property
    def answered_share(self) -> float:
        """Of the requests the page makes today, how many the recording answers."""
        return 1 - len(self.missed) / self.requests if self.requests else 1.0


def check(page: Page, client: Client) -> Iterator[Check]:
    """Replay `page` over each protocol in turn. Raises `TestbedError`, `CdpError`."""
    reference = read_screenshot(page)
    patient = structs.replace(client, quiet_ms=_SETTLE_MS)
    with testbed(page.hosts) as bed:
        bed.origin.serve(page)
        bed.link.passthrough()
        for protocol in CHECKED_PROTOCOLS:
            bed.origin.tune(Stack(name=protocol, protocol=protocol))
            bed.origin.log()
            with (
                chromium(bed, protocol, client) as browser,
                browser.fresh_tab(patient, page) as tab,
            ):
                loaded = tab.load(page.url)
                picture = screenshot(browser, tab.session) if loaded.outcome == "loaded" else b""
            bed.origin.close()
            yield Check(
                protocol=protocol,
                outcome=loaded.outcome,
                error=loaded.error,
                **_held_against(page, bed.origin.log().requests),
                screenshot=picture,
                distance=distance(reference, picture) if reference and picture else None,
            )


def _held_against(page: Page, served: Sequence[Served]) -> dict[str, Any]:
    """By the origin's log, so that workers and frames count as well."""
    due = [r for r in page.resources if page.load_ms is None or r.start_ms <= page.load_ms]
    before_load = structs.replace(page, resources=tuple(due))
    return {
        "fidelity": fidelity(before_load, _as_recorded(page, served)),
        "requests": len(served),
        "answers": dict(Counter(s.match for s in served)),
        "missed": tuple(s.url for s in served if s.match == "miss"),
        "served_bytes": sum(s.body_bytes for s in served),
    }


def _as_recorded(page: Page, served: Sequence[Served]) -> list[Request]:
    """What was asked for; under its recorded URL what only the nearest query answered."""
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
