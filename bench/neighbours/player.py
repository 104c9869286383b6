"""Round trip and rate that hls.js sees as it plays a stream in Chromium:

    python player.py http://ADDRESS:PORT

NODE_PATH names the folder with npm's hls.js.
"""

import json
import os
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium-headless-shell")
SCRIPT = "hls.js/dist/hls.min.js"
PLAY = """async (url) => {
  const media = document.body.appendChild(document.createElement("video"));
  media.muted = true;
  const hls = new Hls();
  const pieces = [];
  const played = new Promise((over, failed) => {
    let plays = false;
    const look = () => plays && hls.levels[0].details.fragments.length === pieces.length && over();
    media.ontimeupdate = () => { plays = media.currentTime > 0; look(); };
    hls.on(Hls.Events.FRAG_LOADED, (_, { frag }) => {
      if (frag.sn !== "initSegment") pieces.push(frag.stats);
      look();
    });
    hls.on(Hls.Events.ERROR, (_, { fatal, details }) => fatal && failed(Error(details)));
  });
  hls.loadSource(url);
  hls.attachMedia(media);
  await media.play();
  await played;
  const later = pieces.slice(2); // past slow start
  const spent = later.reduce((sum, { loading }) => sum + loading.end - loading.first, 0);
  return {
    round_trip_ms: Math.min(...later.map(({ loading }) => loading.first - loading.start)),
    mbps: (later.reduce((sum, { loaded }) => sum + loaded, 0) * 8) / spent / 1000,
  };
}"""


def main() -> None:
    web = sys.argv[1]
    folders = os.environ.get("NODE_PATH", "").split(os.pathsep)
    script = next(each for each in (Path(f, SCRIPT) for f in folders) if each.exists())
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(web)
        page.add_script_tag(path=script)
        print(json.dumps(page.evaluate(PLAY, f"{web}/stream.m3u8")))
        browser.close()


main()
