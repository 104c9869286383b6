"""The protocol of WebKit's Web Inspector, over the pipe that `dragstrip.browsers.cdp` uses.

Its messages look like those of DevTools, but each one for a page travels inside a message for a
target. WebKit names the page's target as soon as the inspector connects.
"""

import time
from typing import Any

import msgspec
from msgspec import Struct

from dragstrip.browsers.cdp import Cdp
from dragstrip.browsers.errors import BrowserError

_APPEARS = "Target.targetCreated"
_REPLACES = "Target.didCommitProvisionalTarget"
_FROM_PAGE = "Target.dispatchMessageFromTarget"
_TO_PAGE = "Target.sendMessageToTarget"
_START_S = 30.0


class _Outer(Struct):
    method: str = ""
    params: dict[str, Any] = {}
    id: int | None = None


class Inspector(Cdp):
    """A connection to one page. `send` and the answers are the page's."""

    def __init__(self, read_fd: int, write_fd: int) -> None:
        super().__init__(read_fd, write_fd)
        self._outer = msgspec.json.Decoder(_Outer)
        self._target = ""
        self.replaced = False
        """Whether another process took over the page, whose events are not watched."""

    def await_page(self) -> None:
        """Wait until WebKit has named the page. Raises `BrowserError`."""
        deadline = time.monotonic() + _START_S
        while not self._target:
            if not self.pump(deadline):
                raise BrowserError(f"WPE WebKit named no page for {_START_S:g} s")

    def send(self, method: str, session: str = "", **params: Any) -> int:
        number = next(self._ids)
        inner = msgspec.json.encode({"id": number, "method": method, "params": params}).decode()
        outer = next(self._ids)
        self._forgotten.add(outer)
        where = {"targetId": self._target, "message": inner}
        self._write({"id": outer, "method": _TO_PAGE, "params": where}, method)
        return number

    def _take(self, raw: bytes) -> None:
        message = self._outer.decode(raw)
        if message.method == _FROM_PAGE:
            super()._take(message.params["message"].encode())
        elif message.method == _APPEARS:
            info = message.params["targetInfo"]
            if info["type"] == "page" and not info.get("isProvisional"):
                self._target = self._target or info["targetId"]
        elif message.method == _REPLACES:
            self.replaced = True
        elif message.id is not None:
            super()._take(raw)
