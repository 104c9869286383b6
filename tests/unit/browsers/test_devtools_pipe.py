"""The pipe finds a browser's first tab: Chromium lists tabs in JSON, WebKit as links of a page."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from dragstrip.browsers.devtools_pipe import first_tab

CHROMIUM = json.dumps(
    [
        {"type": "iframe", "webSocketDebuggerUrl": "ws://127.0.0.1/devtools/page/0"},
        {"type": "page", "webSocketDebuggerUrl": "ws://127.0.0.1/devtools/page/1"},
    ]
)
WEBKIT = "<input onclick=\"window.open('Main.html?ws=' + host + '/socket/1/2/WebPage')\">"


@contextmanager
def listing(pages: Mapping[str, str]) -> Iterator[int]:
    """A browser that answers these paths; yields its port."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path in pages else 404)
            self.end_headers()
            self.wfile.write(pages.get(self.path, "").encode())

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Answer)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize(
    ("pages", "found"),
    [
        ({"/json": CHROMIUM, "/": ""}, "ws://127.0.0.1/devtools/page/1"),
        ({"/": WEBKIT}, "/socket/1/2/WebPage"),
        ({"/json": "[]", "/": ""}, ""),
        ({"/": "<table></table>"}, ""),
    ],
)
def test_the_first_tab_is_found(pages, found):
    with listing(pages) as port:
        assert first_tab(port) == found
