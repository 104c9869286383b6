"""A person at a browser: opens a file, looks, presses keys, clicks, prints."""

import base64
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dragstrip.browsers.cdp import Cdp
from dragstrip.browsers.chromium import chromium_at
from dragstrip.browsers.errors import BrowserError
from dragstrip.browsers.place import BrowserPlace
from dragstrip.model.study import Client

_PATIENCE_S = 60.0
_CODES = {"Tab": 9, "Enter": 13, "Escape": 27, "ArrowUp": 38, "ArrowDown": 40, "/": 191}
"""Virtual key codes."""


class Reader:
    def __init__(self, cdp: Cdp, session: str) -> None:
        self._cdp = cdp
        self._session = session
        self.errors: list[str] = []
        """What the browser complained about so far."""

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        return self._cdp.call(method, self._session, **params)

    def open(self, page: Path) -> None:
        """Opens a page; returns after the load event."""
        self.visit(page.as_uri())

    def visit(self, url: str) -> None:
        """Opens a URL; returns after the load event."""
        self.call("Page.navigate", url=url)
        self.until(f"document.readyState === 'complete' && location.href === '{url}'")

    def ask(self, script: str) -> Any:
        """The value of an expression in the page."""
        found = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def until(self, script: str) -> None:
        deadline = time.monotonic() + _PATIENCE_S
        while not self._true(script):
            self._listen()
            assert time.monotonic() < deadline, f"never true: {script}; {self.errors}"
            time.sleep(0.02)
        self._listen()

    def _true(self, script: str) -> bool:
        try:
            return bool(self.ask(script))
        except BrowserError as error:
            if "navigated" not in str(error):
                raise
            return False  # the page was just leaving

    def press(self, key: str) -> None:
        for kind in ("keyDown", "keyUp"):
            code = _CODES.get(key, ord(key[0].upper()))
            typed = "\r" if key == "Enter" else key if len(key) == 1 else ""
            text = {"text": typed} if typed and kind == "keyDown" else {}
            self.call(
                "Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, **text
            )

    def resize(self, width: int, height: int = 900) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def picture(self) -> bytes:
        """The whole page as PNG."""
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        return base64.b64decode(shot["data"])

    def _listen(self) -> None:
        self._cdp.pump(time.monotonic())
        while self._cdp.events:
            event = self._cdp.events.popleft()
            said = event.params
            if event.method == "Runtime.exceptionThrown":
                self.errors.append(str(said["exceptionDetails"]))
            if event.method == "Log.entryAdded" and said["entry"]["level"] == "error":
                self.errors.append(f"{said['entry']['text']} {said['entry'].get('url', '')}")
            if event.method == "Runtime.consoleAPICalled" and said["type"] in ("error", "assert"):
                self.errors.append(str(said["args"]))


@contextmanager
def reader(workspace: Path, width: int = 1366) -> Iterator[Reader]:
    """A browser that reaches only this machine."""
    place = BrowserPlace(
        command=lambda *argv: list(argv),
        workspace=workspace,
        drop_root=False,
        flags=("--no-sandbox", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"),
    )
    with chromium_at(place, "h2", Client()) as browser:
        target = browser.cdp.call("Target.createTarget", url="about:blank")["targetId"]
        attached = browser.cdp.call("Target.attachToTarget", targetId=target, flatten=True)
        found = Reader(browser.cdp, attached["sessionId"])
        for domain in ("Page", "Runtime", "Log"):
            found.call(f"{domain}.enable")
        found.resize(width)
        yield found
