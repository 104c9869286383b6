"""Round trip and rate of fetch and of a WebSocket in Chromium, driven by Playwright:

    python playwright_page.py http://ADDRESS:PORT ws://ADDRESS:PORT [--throttle] [BYTES]

`--throttle` asks Chromium itself for 100 ms and 10 Mbit/s (Network.emulateNetworkConditions), which
is what Playwright, Puppeteer and DevTools offer.
"""

import json
import os
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium-headless-shell")


def main() -> None:
    web, sockets, *rest = sys.argv[1:]
    measure = Path(__file__).with_name("measure_page.js").read_text()
    size = next((int(each) for each in rest if each.isdigit()), 3_000_000)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(web)
        if "--throttle" in rest:
            session = page.context.new_cdp_session(page)
            session.send("Network.enable")
            session.send(
                "Network.emulateNetworkConditions",
                {
                    "offline": False,
                    "latency": 100,
                    "downloadThroughput": 10e6 / 8,
                    "uploadThroughput": 10e6 / 8,
                },
            )
        print(json.dumps(page.evaluate(measure, [web, sockets, size])))
        browser.close()


main()
