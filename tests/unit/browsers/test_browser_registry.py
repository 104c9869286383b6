"""A browser is an entry in the registry: a session starts what stands there, and asks no more."""

import contextlib

from dragstrip.browsers.registry import BrowserKind, kind_of
from dragstrip.execution.open_browsers import OpenBrowsers
from dragstrip.model.browsers import BROWSERS
from dragstrip.model.stack import Stack
from dragstrip.study.presets import find_stack
from made_capsule import study


class Bed:
    def __init__(self):
        self.addresses = {"a.test": "10.64.1.1"}


def test_every_browser_that_a_stack_may_name_can_be_driven():
    for name in (*BROWSERS, "/opt/mine/chrome"):
        settings = kind_of(name).settings(find_stack("h1"), {"a.test": "10.64.1.1"}, {})
        assert (settings.ask, settings.every_root) == ("none", False)


def test_settings_say_which_roots_a_stack_needs_and_how_its_browser_asks():
    kind = kind_of("chromium")
    usual, rsa = (Stack(name="x", protocol="h2", certificate=c) for c in ("ecdsa", "rsa"))
    asked = [kind.settings(s, {"a.test": "10.64.1.1"}, {}, "doh") for s in (usual, rsa)]
    assert [(s.ask, s.every_root) for s in asked] == [("doh", False), ("doh", True)]
    assert asked[0].lines == asked[1].lines


def test_a_toy_browser_is_started_once_for_all_that_tell_it_the_same(monkeypatch):
    started = []

    @contextlib.contextmanager
    def toy(bed, client, protocol, settings, log):
        started.append((protocol, settings.lines))
        yield object()

    kind = BrowserKind(
        start=toy,
        lines=lambda stack, addresses, spoken, ask: (stack.protocol, *addresses),
        version=lambda: "Toy 1.0",
    )
    monkeypatch.setattr("dragstrip.execution.open_browsers.kind_of", lambda browser: kind)
    made = study()
    with contextlib.ExitStack() as resources:
        browsers = OpenBrowsers(Bed(), made.client, resources, closed=[].append)
        page = made.pages[0]
        for name in ("h2", "h2+", "h3"):
            browsers.get(browsers.needed(page, find_stack(name)))
    assert started == [("h2", ("h2", "a.test")), ("h3", ("h3", "a.test"))]


def test_the_browser_that_was_used_longest_ago_makes_room(monkeypatch):
    monkeypatch.setattr("dragstrip.execution.open_browsers._MOST_OPEN", 2)
    said = []

    @contextlib.contextmanager
    def toy(bed, client, protocol, settings, log):
        said.append(f"+{protocol}")
        yield protocol
        said.append(f"-{protocol}")

    kind = BrowserKind(
        start=toy, lines=lambda stack, addresses, spoken, ask: (), version=lambda: "Toy 1.0"
    )
    monkeypatch.setattr("dragstrip.execution.open_browsers.kind_of", lambda browser: kind)
    made = study()
    with contextlib.ExitStack() as resources:
        browsers = OpenBrowsers(Bed(), made.client, resources, closed=[].append)
        page = made.pages[0]
        for name in ("h1", "h2", "h1", "h3", "h1", "h2"):
            found = browsers.get(browsers.needed(page, find_stack(name)))
            assert found == name
    assert said[:6] == ["+h1", "+h2", "-h2", "+h3", "-h3", "+h2"]
    assert sorted(said[6:]) == ["-h1", "-h2"]
