"""Slows down the first thread of Chromium's pages, and measures by how much."""

from typing import Any

from dragstrip.browsers.cdp import Cdp

_SCRIPT = """(() => {
  let least = Infinity;
  for (let run = 0; run < 5; run++) {
    const began = performance.now();
    let x = 0;
    for (let i = 0; i < 4e6; i++) x = (x * 31 + i) | 0;
    least = Math.min(least, performance.now() - began);
  }
  return least;
})()"""
"""A script that returns the shortest of five runs, in ms, because longer runs were disturbed more.
The result is about 10 on a machine of 2026."""


def slow_down(times: float) -> tuple[str, dict[str, Any]]:
    """Return the DevTools command that divides the speed of a page's first thread by `times`."""
    return "Emulation.setCPUThrottlingRate", {"rate": times}


def measured(cdp: Cdp, session: str) -> float:
    """Return how many times longer a fixed script takes in the tab's page than without the page's
    slow-down. The slow-down ends here. Raises `BrowserError`."""
    slow_ms = _script_ms(cdp, session)
    method, params = slow_down(1)
    cdp.call(method, session, **params)
    return slow_ms / _script_ms(cdp, session)


def _script_ms(cdp: Cdp, session: str) -> float:
    """Return the time in ms that the script takes. It runs in an isolated world, because a page may
    replace ``performance`` or ``Math``."""
    frame = cdp.call("Page.getFrameTree", session)["frameTree"]["frame"]["id"]
    world = cdp.call("Page.createIsolatedWorld", session, frameId=frame)["executionContextId"]
    answer = cdp.call(
        "Runtime.evaluate", session, expression=_SCRIPT, contextId=world, returnByValue=True
    )
    value: float = answer["result"]["value"]
    return value
