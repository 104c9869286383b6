"""A browser's error page does not count as the page that failed, even if its events come together
with the error, as on a busy machine."""

import pytest

from dragstrip.browsers import load
from dragstrip.browsers.cdp import Event
from dragstrip.browsers.firefox import bidi
from dragstrip.model.done import AT_LOAD, parse_done
from dragstrip.model.study import Client

URL = "https://a.test/"
LOAD = parse_done(AT_LOAD)


class Answered:
    """A browser that has answered the navigation."""

    def __init__(self, answer: dict) -> None:
        self.answer = answer

    def answered(self, command: int) -> bool:
        return True

    def result_of(self, command: int, method: str) -> dict:
        return self.answer


@pytest.mark.parametrize(
    ("frame", "error", "outcome"),
    [
        ({"url": URL}, "", "loaded"),
        ({"url": URL, "parentId": "1"}, "", "timeout"),
        ({"url": "chrome-error://chromewebdata/", "unreachableUrl": URL}, "net::X", "failed"),
    ],
)
def test_chromium_reports_the_load_event_of_the_page_alone(frame, error, outcome):
    watch = load._Watch(Answered({"errorText": error}), "tab", 1, LOAD, Client())
    watch.sort(Event("Page.frameNavigated", {"frame": frame}, "tab"))
    watch.sort(Event("Page.loadEventFired", {}, "tab"))
    assert watch.ended() == (outcome != "timeout")
    assert watch.outcome == outcome


def moves(url: str, loader: str = "2") -> list[Event]:
    """A request for another document in the tab."""
    params = {"requestId": loader, "loaderId": loader, "type": "Document", "frameId": "f"}
    params |= {"request": {"url": url}, "wallTime": 1.0, "timestamp": 1.0}
    return [Event("Network.requestWillBeSent", params, "tab")]


@pytest.mark.parametrize(
    ("then", "outcome"),
    [
        ([], "loaded"),
        (moves(f"{URL}2"), "timeout"),
        ([*moves(f"{URL}2"), Event("Network.loadingFailed", {"requestId": "2"}, "tab")], "loaded"),
        (
            [*moves(f"{URL}2"), Event("Page.frameNavigated", {"frame": {"url": URL}}, "tab")],
            "timeout",
        ),
        (
            [
                *moves(f"{URL}2"),
                Event("Page.frameNavigated", {"frame": {"url": "x", "unreachableUrl": URL}}, "tab"),
            ],
            "failed",
        ),
    ],
    ids=["stays", "leaves", "tries to leave", "arrives", "fails"],
)
def test_a_page_that_moves_on_has_not_loaded(then, outcome):
    watch = load._Watch(Answered({}), "tab", 1, LOAD, Client())
    first = [*moves(URL, "1"), Event("Page.frameNavigated", {"frame": {"url": URL}}, "tab")]
    for event in (*first, Event("Page.loadEventFired", {}, "tab"), *then):
        watch.sort(event)
    assert watch.ended() == (outcome != "timeout")
    assert watch.outcome == outcome


@pytest.mark.parametrize(("fails", "outcome"), [(False, "loaded"), (True, "failed")])
def test_firefox_loads_no_page_that_failed(fails, outcome):
    watch = bidi._Watch(Answered({"navigation": "7"}), "tab", 1, LOAD)
    told = {"context": "tab", "navigation": "7", "url": URL}
    if fails:
        watch.sort(Event(bidi._FAILED, told, ""))
    watch.sort(Event("browsingContext.load", told, ""))
    assert watch.ended()
    assert watch.outcome == outcome
