"""Round trip and rate of fetch and of a WebSocket in Chromium, driven by Playwright:

    python playwright_page.py http://ADDRESS:PORT ws://ADDRESS:PORT [--throttle] [BYTES]

`--throttle` asks Chromium itself for 100 ms and 10 Mbit/s (Network.emulateNetworkConditions), which
is what Playwright, Puppeteer and DevTools offer.
"""

import json
import os
import sys

from playwright.sync_api import sync_playwright

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium-headless-shell")
MEASURE = """async ([web, sockets, bytes]) => {
  const least = async (once) => {
    const trips = [];
    for (let i = 0; i < 6; i++) {
      const began = performance.now();
      await once();
      if (i > 0) trips.push(performance.now() - began);
    }
    return Math.min(...trips);
  };
  const rated = (read) => {
    let got = 0, first = 0, firstAt = 0;
    return (length) => {
      got += length;
      if (!first && got >= bytes / 3) { first = got; firstAt = performance.now(); }
      return got < bytes ? 0 : (got - first) * 8 / (performance.now() - firstAt) / 1000;
    };
  };
  const fetched = await least(async () => (await fetch(`${web}/1`)).arrayBuffer());
  const reader = (await fetch(`${web}/${bytes}`)).body.getReader();
  const fetchRate = rated();
  let fetchMbps = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    fetchMbps = fetchRate(value.length);
  }
  const socket = new WebSocket(sockets);
  socket.binaryType = "arraybuffer";
  await new Promise((ready) => (socket.onopen = ready));
  const answered = await least(() => new Promise((heard) => {
    socket.onmessage = heard;
    socket.send("ping");
  }));
  const socketRate = rated();
  const socketMbps = await new Promise((over) => {
    socket.onmessage = ({ data }) => {
      const mbps = socketRate(data.byteLength);
      if (mbps) over(mbps);
    };
    socket.send(String(bytes));
  });
  return {
    fetch: { round_trip_ms: fetched, mbps: fetchMbps },
    socket: { round_trip_ms: answered, mbps: socketMbps },
  };
}"""


def main() -> None:
    web, sockets, *rest = sys.argv[1:]
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
        print(json.dumps(page.evaluate(MEASURE, [web, sockets, size])))
        browser.close()


main()
