"""How much of a recording its page shows again, over h1, h2 and h3.

uv run python bench/pages/pages.py PAGE... [--network LTE] [--stacks h1,h2,h3] [--screenshots DIR]
"""

import argparse
import base64
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from dragstrip.browsers.chromium import chromium
from dragstrip.model.page import Page
from dragstrip.model.study import Client
from dragstrip.pages.fidelity import fidelity
from dragstrip.pages.resolve import resolve
from dragstrip.study.presets import find_network, find_stack
from dragstrip.testbed.testbed import testbed

COLUMNS = ("stack", "outcome", "PLT ms", "FCP ms", "asked", "bytes", "hosts", "tau", "invented")


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("pages", nargs="+")
    ask.add_argument("--network", default="LTE")
    ask.add_argument("--stacks", default="h1,h2,h3")
    ask.add_argument("--screenshots", type=Path)
    asked = ask.parse_args()
    with TemporaryDirectory() as cache:
        for name in asked.pages:
            begun = time.monotonic()
            page = resolve(name, Path(cache))
            print(
                f"{page.name}: {len(page.resources)} requests, {page.body_bytes / 1e6:.2f} MB, "
                f"{len(page.hosts)} hosts, made in {time.monotonic() - begun:.1f} s"
            )
            print("  " + "".join(f"{c:>12}" for c in COLUMNS))
            for stack in asked.stacks.split(","):
                print("  " + "".join(f"{c:>12}" for c in row(page, stack, asked)), flush=True)


def row(page: Page, stack: str, asked: argparse.Namespace) -> list[str]:
    """One load, scored; its picture beside, if asked for."""
    client = Client()
    with testbed(page.hosts) as bed:
        bed.origin.serve(page)
        bed.origin.tune(find_stack(stack))
        with chromium(bed, find_stack(stack).protocol, client) as browser:
            with browser.fresh_tab(client) as tab:
                bed.link.configure(find_network(asked.network), 1)
                loaded = tab.load(page.url)
                if asked.screenshots:
                    asked.screenshots.mkdir(parents=True, exist_ok=True)
                    shot = browser.cdp.call("Page.captureScreenshot", tab.session, format="png")
                    file = asked.screenshots / f"{page.name}-{stack}.png"
                    file.write_bytes(base64.b64decode(shot["data"]))
            score = fidelity(page, [e.request for e in loaded.exchanges])
    for url in (*score.missed[:5], *(f"+{u}" for u in score.invented[:5])):
        print(f"    {url[:150]}")
    tau = "none" if score.order_tau is None else f"{score.order_tau:.3f}"
    return [
        stack,
        loaded.outcome,
        f"{loaded.navigation.loadEventEnd:.0f}",
        f"{loaded.fcp_ms or 0:.0f}",
        f"{score.asked_share:.1%}",
        f"{score.bytes_share:.1%}",
        f"{score.hosts_asked}/{score.hosts}",
        tau,
        str(len(score.invented)),
    ]


if __name__ == "__main__":
    main()
