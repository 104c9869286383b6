"""Messages of a page travel inside messages of its target."""

import json
import os
import time
from collections.abc import Iterator
from typing import Any

import pytest

from dragstrip.browsers.errors import BrowserError
from dragstrip.browsers.wpe.inspector import Inspector

CREATED = {
    "method": "Target.targetCreated",
    "params": {"targetInfo": {"targetId": "page-6", "type": "page"}},
}


class Browser:
    """The other end of the pipe."""

    def __init__(self) -> None:
        read, self._told = os.pipe()
        self._asked, write = os.pipe()
        self.page = Inspector(read, write)
        self._ends = (read, self._told, self._asked, write)

    def say(self, *messages: dict[str, Any]) -> None:
        for message in messages:
            os.write(self._told, json.dumps(message).encode() + b"\0")

    def say_in_page(self, message: dict[str, Any]) -> None:
        told = {"targetId": "page-6", "message": json.dumps(message)}
        self.say({"method": "Target.dispatchMessageFromTarget", "params": told})

    def heard(self) -> list[dict[str, Any]]:
        return [json.loads(raw) for raw in os.read(self._asked, 1 << 16).split(b"\0") if raw]

    def close(self) -> None:
        for end in self._ends:
            os.close(end)


@pytest.fixture
def browser() -> Iterator[Browser]:
    made = Browser()
    yield made
    made.close()


def test_commands_and_answers_are_the_pages(browser):
    browser.say(CREATED)
    browser.page.await_page()
    number = browser.page.send("Page.enable", lively=True)
    (outer,) = browser.heard()
    assert (outer["method"], outer["params"]["targetId"]) == (
        "Target.sendMessageToTarget",
        "page-6",
    )
    inner = json.loads(outer["params"]["message"])
    assert inner == {"id": number, "method": "Page.enable", "params": {"lively": True}}
    browser.say({"id": outer["id"], "result": {}})
    browser.say_in_page({"id": number, "result": {"done": 1}})
    assert browser.page.result_of(number, "Page.enable") == {"done": 1}


def test_an_error_in_the_page_is_an_error(browser):
    browser.say(CREATED)
    browser.page.await_page()
    number = browser.page.send("Page.navigate")
    browser.say_in_page({"id": number, "error": {"code": -32601, "message": "was not found"}})
    with pytest.raises(BrowserError, match=r"Page\.navigate: was not found"):
        browser.page.result_of(number, "Page.navigate")


def test_events_of_the_page_are_kept(browser):
    browser.say(CREATED)
    browser.say_in_page({"method": "Page.loadEventFired", "params": {"timestamp": 1.5}})
    browser.page.await_page()
    while not browser.page.events:
        assert browser.page.pump(time.monotonic() + 5)
    assert browser.page.events[0].method == "Page.loadEventFired"


def test_another_process_for_the_page_is_noticed(browser):
    browser.say(CREATED)
    browser.page.await_page()
    assert not browser.page.replaced
    swapped = {"oldTargetId": "page-6", "newTargetId": "page-9"}
    browser.say({"method": "Target.didCommitProvisionalTarget", "params": swapped})
    assert browser.page.pump(time.monotonic() + 5)
    assert browser.page.replaced
