"""Follows the workers of a page: Chromium reports their requests apart from the page's own."""

from typing import Any

from dragstrip.browsers.cdp import Cdp, Event


def _attach(kind: str) -> tuple[str, dict[str, Any]]:
    """Return a command to report each new worker of a kind. The worker waits for
    `Runtime.runIfWaitingForDebugger`, so that none of its requests goes unseen."""
    how = {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True}
    return "Target.setAutoAttach", {**how, "filter": [{"type": kind}]}


OF_A_TAB = _attach("worker")
"""A tab, or a worker, is asked for the workers that belong to it."""
_SHARED = _attach("shared_worker")

_Command = tuple[str, dict[str, Any]]
_WATCH: _Command = ("Network.enable", {})
_RUN: _Command = ("Runtime.runIfWaitingForDebugger", {})


def follow_shared(cdp: Cdp) -> None:
    """Report the shared workers of all tabs. They belong to the browser."""
    method, params = _SHARED
    cdp.forget(cdp.send(method, **params))


class Workers:
    """The workers that the documents of one tab have started, and their requests under way."""

    def __init__(self, cdp: Cdp) -> None:
        self._cdp = cdp
        self._under_way: dict[str, set[str]] = {}

    def __contains__(self, session: str) -> bool:
        return session in self._under_way

    def starts(self, event: Event) -> None:
        """Watch the requests of a worker, and of those that it starts; then let it run."""
        session = event.params["sessionId"]
        self._under_way[session] = set()
        for method, params in (_WATCH, OF_A_TAB, _RUN):
            self._cdp.forget(self._cdp.send(method, session, **params))

    def begins(self, event: Event) -> None:
        """Record that a request began, if a worker made it."""
        if event.session in self._under_way:
            self._under_way[event.session].add(event.params["requestId"])

    def ends(self, event: Event) -> set[str]:
        """Record that a worker has ended; return its requests, which will not end any more."""
        return self._under_way.pop(event.params["sessionId"], set())
