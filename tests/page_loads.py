"""Judged loads of small pages made for the test, in Chromium and in Firefox."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime

import pytest
from msgspec import structs

from conftest import BUSY, LENIENT, NETWORK, Track, judged, plan_of
from dragstrip.browsers.chromium import chromium
from dragstrip.browsers.firefox.browser import find_firefox, firefox, stack_lines
from dragstrip.model.browsers import CHROMIUM, FIREFOX, TODAY
from dragstrip.model.network import Network
from dragstrip.model.study import Client
from dragstrip.model.visit import Visit
from dragstrip.pages.format.archive import write_page
from dragstrip.pages.format.recording import Headers, Recorded, Recording
from dragstrip.study.presets import find_stack
from dragstrip.testbed.errors import TestbedError

SITE = "https://www.synth.test"
PATIENT = Client(timeout_s=20)
"""A busy machine may take that long to start a browser's processes."""
BRIEF = Client(timeout_s=4)
"""A client for loads that never end."""


def unless_found(find: Callable[[], object]) -> pytest.MarkDecorator:
    """Skip the test, with what `find` says, if it raises `TestbedError`."""
    try:
        find()
    except TestbedError as error:
        return pytest.mark.skip(str(error))
    return pytest.mark.skipif(False, reason="it is there")


BROWSERS = ["chromium", pytest.param("firefox", marks=unless_found(find_firefox))]

_NAMES = {"chromium": TODAY, "whole": CHROMIUM, "firefox": FIREFOX}


def answer(
    path: str,
    mime: str,
    body: bytes,
    think_ms: float = 0,
    status: int = 200,
    headers: Headers = (),
) -> Recorded:
    return Recorded(
        method="GET",
        url=f"{SITE}{path}",
        status=status,
        headers=(("content-type", mime), *headers),
        wire=body,
        started=datetime(2026, 1, 1, tzinfo=UTC),
        think_ms=think_ms,
    )


def load(
    track: Track,
    answers: Iterable[Recorded],
    which: str,
    *,
    done: str = "load",
    stack: str = "h2",
    client: Client = PATIENT,
    network: Network = NETWORK,
) -> Visit:
    """A judged first visit to the page of these answers, which starts at ``/``."""
    recording = Recording(
        name="x", url=f"{SITE}/", source="made", answers=tuple(answers), done=done
    )
    page = write_page(track.folder / "x.har.zip", recording)
    assert page.done == done
    track.bed.origin.serve(page, think=True)
    used = find_stack(stack)
    used = structs.replace(used, browser=_NAMES[which])
    plan = plan_of(page, used, client=client, network=network)
    lines = stack_lines(used, track.bed.addresses)
    start = (
        firefox(track.bed, used.protocol, client, lines)
        if which == "firefox"
        else chromium(track.bed, used.protocol, client, browser=used.browser)
    )
    with start as browser:
        return judged(track.bed, browser, plan, LENIENT)[0]


def told(visit: Visit) -> list[str]:
    """The reasons against a visit, without those that a busy machine causes."""
    ignored = BUSY | {"clock-jump"}
    return [f"{r.code}: {r.detail}" for r in visit.reasons if r.code not in ignored]
