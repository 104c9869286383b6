"""Makes one page load in WPE WebKit, as `dragstrip.browsers.load` does over DevTools.

The page's own timing has whole milliseconds, like Safari's. The document's handshake and first byte
come from its request, which counts in microseconds from the same start, rounded down. So they are
up to 1 ms too late.
"""

import time
from typing import Any

from dragstrip.browsers.cdp import Event
from dragstrip.browsers.exchanges import exchanges
from dragstrip.browsers.load import (
    READ_TIMINGS,
    Load,
    Navigation,
    NavigationTimings,
    began_before_ms,
    preludes,
    shifted,
    timings_of,
)
from dragstrip.browsers.only_tab import OnlyTabWatch, with_document
from dragstrip.browsers.wpe.exchanges import as_devtools, error_of
from dragstrip.browsers.wpe.inspector import Inspector
from dragstrip.model.study import Client

_WARM = "fetch('http://127.0.0.1:1/').then(() => 0, () => 0); 0"
"""A request to a closed port: WebKit starts the process that makes requests at the first one."""
_WARM_S = 5.0


def make_ready(page: Inspector, client: Client, recorded_ms: float | None) -> None:
    """Prepare the only page of a browser for observation. Raises `BrowserError`."""
    for domain in ("Network", "Page", "Runtime"):
        page.call(f"{domain}.enable")
    script = "\n".join(f"{{ {source} }}" for source in preludes(client, recorded_ms))
    page.call("Page.setBootstrapScript", source=script)
    page.call("Runtime.evaluate", expression=_WARM)
    deadline = time.monotonic() + _WARM_S
    while not any(e.method == "Network.loadingFailed" for e in page.events):
        if not page.pump(deadline):
            break
    page.events.clear()


def agent(page: Inspector) -> str:
    """Return the name by which the browser introduces itself. Raises `BrowserError`."""
    found = page.call("Runtime.evaluate", expression="navigator.userAgent", returnByValue=True)
    return str(found["result"].get("value", ""))


def load(page: Inspector, url: str, client: Client) -> Load:
    """Navigate the page to `url` and watch until the load event plus the client's quiet time.

    A load that fails or does not end in time is a result, not an exception. Raises `BrowserError`.
    """
    page.events.clear()
    watch = _Watch(page)
    sent_s = time.time()
    page.send("Runtime.evaluate", expression=f"location.assign({url!r})")
    timings = watch.read_at_end(client, lambda: _timings(page, watch))
    origin_s = timings.timeOrigin / 1000 if timings else sent_s
    translated = list(as_devtools(watch.network))
    seen = exchanges(translated, origin_s - watch.clock_offset_s)
    navigation = Navigation()
    if timings:
        told = timings.navigation or Navigation()
        navigation = with_document(told, watch.documents, seen)
    if later_ms := began_before_ms(watch.documents, seen):
        navigation, origin_s = navigation.later(later_ms), origin_s - later_ms / 1000
        seen = exchanges(translated, origin_s - watch.clock_offset_s)
    return Load(
        outcome=watch.outcome,
        error=watch.error,
        sent_s=sent_s,
        time_origin_s=origin_s,
        navigation=navigation,
        done_ms=navigation.loadEventEnd if watch.loaded else None,
        fcp_ms=shifted(timings.fcp, later_ms) if timings else None,
        lcp_ms=shifted(timings.lcp, later_ms) if timings else None,
        documents=tuple(watch.documents),
        exchanges=seen,
    )


class _Watch(OnlyTabWatch):
    wall = "walltime"

    def __init__(self, page: Inspector) -> None:
        super().__init__(page)
        self._page = page

    def why_failed(self, params: dict[str, Any]) -> str:
        return error_of(params)

    def ended(self) -> bool:
        if self._page.replaced:
            self.error = self.error or "the page moved to another site, which is not watched"
        return super().ended()

    def sort(self, event: Event) -> None:
        if event.method == "Page.domContentEventFired":
            self.parses()
        else:
            super().sort(event)


def _timings(page: Inspector, watch: _Watch) -> NavigationTimings | None:
    """Return the page's timings; None without a document."""
    if not watch.loaded and (watch.error or not watch.committed):
        return None
    answer = page.call("Runtime.evaluate", expression=READ_TIMINGS, returnByValue=True)
    return timings_of(answer["result"])
