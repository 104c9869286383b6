"""How well do a page's faults predict the CPU time of its first thread?

    uv run python bench/virtual/memory.py PAGE... [--stack h2] [--loads 5]

Loads each page in Chromium in real time, over a link of 100 Mbit/s and 20 ms, and prints medians.
They are the CPU time of the page's first thread, where scripts, style and layout run, and how often
that thread touched memory for the first time. With a price for each page of memory, `--virtual`
makes a guest compute as long.
"""

import argparse
import contextlib
from collections.abc import Iterator
from pathlib import Path
from statistics import correlation, median
from tempfile import TemporaryDirectory

from msgspec import Struct

from dragstrip.browsers.chromium import Chromium, chromium
from dragstrip.model.network import Network
from dragstrip.model.study import Client
from dragstrip.pages.resolve import resolve
from dragstrip.study.presets import find_stack
from dragstrip.testbed.testbed import testbed

_NETWORK = Network.parse("100mbit/100mbit/10ms/0%/200ms")
_PAGE_THREAD = "Compositor"
"""Only a page's process has a thread of that name."""


class Work(Struct, frozen=True):
    """Work of the first thread of a page's process, so far or in one load."""

    cpu_ms: float
    faults: int

    def since(self, before: "Work") -> "Work":
        return Work(self.cpu_ms - before.cpu_ms, self.faults - before.faults)


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("pages", nargs="+")
    ask.add_argument("--stack", default="h2")
    ask.add_argument("--loads", type=int, default=5)
    asked = ask.parse_args()
    print("| page | first thread, ms | its page faults | us a fault |\n|---|---|---|---|")
    rows = []
    with TemporaryDirectory() as cache:
        for name in asked.pages:
            loads = list(measured(name, Path(cache), asked.stack, asked.loads))
            cpu_ms, faults = (median(getattr(w, f) for w in loads) for f in ("cpu_ms", "faults"))
            rows.append((cpu_ms, faults))
            print(f"| {name} | {cpu_ms:.0f} | {faults:.0f} | {cpu_ms * 1000 / faults:.1f} |")
    if len(rows) > 2:
        print(f"\nCorrelation over pages: {correlation(*zip(*rows, strict=True)):.2f}")


def measured(name: str, cache: Path, stack_name: str, loads: int) -> Iterator[Work]:
    page, client, stack = resolve(name, cache), Client(), find_stack(stack_name)
    with testbed(page.hosts) as bed:
        bed.origin.serve(page)
        bed.origin.tune(stack)
        with chromium(bed, stack.protocol, client) as browser:
            for seed in range(loads + 1):
                with browser.fresh_tab(client, page) as tab:
                    bed.link.configure(_NETWORK, seed)
                    before = work(browser)
                    loaded = tab.load(page.url)
                    assert loaded.outcome == "loaded", loaded.error
                    after = work(browser)
                    bed.link.passthrough()
                if seed:  # the first warms the browser up
                    yield max(
                        (now.since(before.get(p, Work(0, 0))) for p, now in after.items()),
                        key=lambda spent: spent.cpu_ms,
                    )


def work(browser: Chromium) -> dict[int, Work]:
    """Work of the pages' processes, by process id."""
    found = {}
    for process in browser.cpu_s():
        tasks = Path(f"/proc/{process}/task")
        with contextlib.suppress(OSError):
            names = {(t / "comm").read_text().strip() for t in tasks.iterdir()}
            first = tasks / str(process)
            if _PAGE_THREAD in names:
                cpu_ns = int((first / "schedstat").read_text().split()[0])
                fields = (first / "stat").read_text().rpartition(")")[2].split()
                found[process] = Work(cpu_ns / 1e6, int(fields[7]))
    return found


if __name__ == "__main__":
    main()
