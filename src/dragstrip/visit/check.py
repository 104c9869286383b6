"""Replay a page without emulation and hold what happens against its recording."""

from collections.abc import Iterator

from msgspec import Struct, structs

from dragstrip.browsers.chromium import chromium
from dragstrip.browsers.load import fresh_tab, load
from dragstrip.browsers.record import screenshot
from dragstrip.model.page import Page
from dragstrip.model.stack import Protocol, Stack
from dragstrip.model.study import Client
from dragstrip.model.visit import Outcome
from dragstrip.pages.archive import read_screenshot
from dragstrip.pages.fidelity import Score, score
from dragstrip.pages.picture import Distance, distance
from dragstrip.testbed.testbed import testbed

PROTOCOLS: tuple[Protocol, ...] = ("h1", "h2", "h3")
_SETTLE_MS = 2000.0
"""Until the picture is taken, as when recording."""


class Check(Struct, frozen=True, kw_only=True):
    """One replay."""

    protocol: Protocol
    outcome: Outcome
    error: str
    score: Score
    screenshot: bytes
    """PNG; empty if the load did not end."""
    distance: Distance | None
    """From the recorded picture; None without one."""


def check(page: Page, client: Client) -> Iterator[Check]:
    """Replay `page` over each protocol in turn. Raises `TestbedError`, `CdpError`."""
    reference = read_screenshot(page)
    patient = structs.replace(client, quiet_ms=_SETTLE_MS)
    with testbed(page.hosts) as bed:
        bed.origin.serve(page)
        bed.link.passthrough()
        for protocol in PROTOCOLS:
            bed.origin.tune(Stack(name=protocol, protocol=protocol))
            bed.origin.log()
            with (
                chromium(bed, protocol, client) as browser,
                fresh_tab(browser, client, page.recorded_ms) as session,
            ):
                loaded = load(browser, session, page.url, patient)
                picture = screenshot(browser, session) if loaded.outcome == "loaded" else b""
            bed.origin.close()
            yield Check(
                protocol=protocol,
                outcome=loaded.outcome,
                error=loaded.error,
                score=score(page, bed.origin.log().requests),
                screenshot=picture,
                distance=distance(reference, picture) if reference and picture else None,
            )
