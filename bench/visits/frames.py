"""How true visual metrics are: boxes painted at 200, 400 and 800 ms, over h1, h2 and h3.

uv run python bench/visits/frames.py [loads a protocol, default 20]

The page notes by its own clock when each box was really painted. So the error has two parts: the
page's timers (the page is late, and the metric rightly so) and the eye (the metric differs from
what the page did). Both are printed, in ms: median, and the worst in brackets.
"""

import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from dragstrip.browsers.chromium import Chromium, chromium
from dragstrip.model.network import Network
from dragstrip.model.page import Page
from dragstrip.model.study import Client
from dragstrip.model.visit import Visual
from dragstrip.pages.format.archive import write_page
from dragstrip.pages.generators.painted import BOXES, painted
from dragstrip.testbed.testbed import testbed
from dragstrip.visit.frames import visual

NEAR = Network.parse("100mbit/100mbit/5ms/0%/200ms")
PROTOCOLS = ("h1", "h2", "h3")
NEAR_ENOUGH_MS = 20
CLIENT = Client(frames=True, timeout_s=20)


class Metrics(Struct, frozen=True):
    """Metrics in ms."""

    fvc: float
    vc85: float
    lvc: float
    speed_index: float

    def minus(self, other: "Metrics") -> "Metrics":
        pairs = zip(self.values(), other.values(), strict=True)
        return Metrics(*(a - b for a, b in pairs))

    def values(self) -> tuple[float, ...]:
        return self.fvc, self.vc85, self.lvc, self.speed_index


def of_boxes(times_ms: Sequence[float]) -> Metrics:
    """What boxes painted at these times ought to give."""
    first, second, third = times_ms
    left = [1 - sum(b.width_percent for b in BOXES[: i + 1]) / 100 for i in range(2)]
    index = first + left[0] * (second - first) + left[1] * (third - second)
    return Metrics(first, second, third, index)


def of_frames(seen: Visual | None) -> Metrics | None:
    if not seen or seen.fvc_ms is None or seen.lvc_ms is None:
        return None
    return Metrics(seen.fvc_ms, seen.vc85_ms or 0, seen.lvc_ms, seen.speed_index_ms or 0)


def one(browser: Chromium, page: Page) -> tuple[Metrics, Metrics] | None:
    """What the page did by its own clock, and what was seen; None if it did not load."""
    with browser.fresh_tab(CLIENT) as tab:
        loaded = tab.load(page.url)
        answer = browser.cdp.call(
            "Runtime.evaluate", tab.session, expression="performance.painted", returnByValue=True
        )
    seen = of_frames(visual(loaded.frames))
    return (of_boxes(answer["result"]["value"]), seen) if seen else None


def said(errors: Sequence[Metrics]) -> str:
    columns = zip(*(e.values() for e in errors), strict=True)
    return "  ".join(f"{statistics.median(c):+6.1f} ({max(c, key=abs):+6.1f})" for c in columns)


def main() -> None:
    loads = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    wanted = of_boxes([b.at_ms for b in BOXES])
    print(f"{'':28}{'FVC':>15}{'VC85':>17}{'LVC':>17}{'SpeedIndex':>17}")
    with tempfile.TemporaryDirectory() as folder:
        page = write_page(Path(folder) / "painted.har.zip", painted())
        with testbed(page.hosts) as bed:
            bed.origin.serve(page)
            bed.link.configure(NEAR, 1)
            for protocol in PROTOCOLS:
                with chromium(bed, protocol, CLIENT) as browser:
                    one(browser, page)  # warms up
                    made = [found for _ in range(loads) if (found := one(browser, page))]
                whole = [seen.minus(wanted) for _, seen in made]
                near = sum(all(abs(e) <= NEAR_ENOUGH_MS for e in w.values()) for w in whole)
                print(f"{protocol}  all of the error        {said(whole)}")
                print(f"    the page's timers       {said([p.minus(wanted) for p, _ in made])}")
                print(f"    the eye                 {said([s.minus(p) for p, s in made])}")
                print(f"    all four within {NEAR_ENOUGH_MS} ms: {near} of {loads} loads")


if __name__ == "__main__":
    main()
