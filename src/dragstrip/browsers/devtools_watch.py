"""Follows the documents of one tab by DevTools events, in every dialect."""

from typing import Any

from dragstrip.browsers.cdp import Cdp
from dragstrip.browsers.watch import TabWatch
from dragstrip.model.done import Done


class DevToolsWatch(TabWatch):
    """Tracks which document the tab shows, and whether the page navigates away."""

    def __init__(self, cdp: Cdp, done: Done) -> None:
        super().__init__(cdp, done)
        self.committed = False
        """Whether the tab has a document."""
        self._fired = False
        self._frame = ""
        """Frame id of the tab's documents. All other frames are subframes."""

    @property
    def fired(self) -> bool:
        return self._fired

    def asks(self, params: dict[str, Any]) -> None:
        """Handle a request for a document by the tab or a frame (Network.requestWillBeSent)."""
        self._frame = self._frame or params.get("frameId", "")
        if self.committed and params.get("frameId") == self._frame:
            self.leaves(params["requestId"])

    def commits(self, frame: dict[str, Any]) -> None:
        """Handle a new document (Page.frameNavigated): the page's, a subframe's, or the browser's
        error page, which has a load event, too."""
        if "parentId" in frame:
            return
        if "unreachableUrl" not in frame:
            self.committed, self._fired = True, False
            self.arrives(frame.get("url", ""))
        elif self.committed:
            self.error = f"the page moved on to {frame['unreachableUrl']}, which failed"

    def fires(self) -> None:
        """Handle a document's load event (Page.loadEventFired)."""
        self._fired |= self.committed
