"""Reading a browser's messages from a pipe."""

import os
import threading
import time
from collections.abc import Iterator

import pytest

from dragstrip.browsers.cdp import Cdp
from dragstrip.browsers.errors import BrowserError


@pytest.fixture
def browser() -> Iterator[tuple[Cdp, int]]:
    """A connection, and the end by which the browser speaks."""
    (from_browser, says), (heard, to_browser) = os.pipe(), os.pipe()
    yield Cdp(from_browser, to_browser), says
    for end in (from_browser, heard, to_browser):
        os.close(end)


def event(name: str, text: str = "") -> bytes:
    return f'{{"method":"{name}","params":{{"text":"{text}"}}}}'.encode()


def soon() -> float:
    return time.monotonic() + 5


def test_a_message_and_its_end_may_come_apart(browser: tuple[Cdp, int]) -> None:
    cdp, says = browser
    os.write(says, event("one"))
    threading.Timer(0.05, lambda: os.write(says, b"\0")).start()
    assert cdp.pump(soon())
    assert [e.method for e in cdp.events] == ["one"]
    os.close(says)


def test_messages_that_come_together_are_all_taken(browser: tuple[Cdp, int]) -> None:
    cdp, says = browser
    os.write(says, event("one") + b"\0" + event("two") + b"\0")
    assert cdp.pump(soon())
    assert [e.method for e in cdp.events] == ["one", "two"]
    os.close(says)


def test_a_message_may_be_longer_than_a_pipe(browser: tuple[Cdp, int]) -> None:
    cdp, says = browser
    long = event("long", "x" * 500_000) + b"\0"
    threading.Thread(target=lambda: [os.write(says, long), os.close(says)]).start()
    assert cdp.pump(soon())
    assert len(cdp.events[0].params["text"]) == 500_000


def test_a_browser_that_ends_within_a_message_is_an_error(browser: tuple[Cdp, int]) -> None:
    cdp, says = browser
    os.write(says, event("one")[:10])
    os.close(says)
    with pytest.raises(BrowserError, match="the browser ended"):
        cdp.pump(soon())


def test_a_silent_browser_is_left_at_the_deadline(browser: tuple[Cdp, int]) -> None:
    cdp, says = browser
    assert not cdp.pump(time.monotonic() - 1)
    os.close(says)
