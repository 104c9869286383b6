"""Follows the documents of one tab by events of DevTools, in every dialect."""

from typing import Any

from dragstrip.browsers.cdp import Cdp
from dragstrip.browsers.watch import TabWatch
from dragstrip.model.done import Done


class DevToolsWatch(TabWatch):
    """Knows which document the tab shows, and whether its page moves on."""

    def __init__(self, cdp: Cdp, done: Done) -> None:
        super().__init__(cdp, done)
        self.committed = False
        """Whether the tab has a document."""
        self._fired = False
        self._frame = ""
        """Frame of the tab's documents; all else is in other frames."""

    @property
    def fired(self) -> bool:
        return self._fired

    def asks(self, params: dict[str, Any]) -> None:
        """The tab or a frame asks for a document (Network.requestWillBeSent)."""
        self._frame = self._frame or params.get("frameId", "")
        if self.committed and params.get("frameId") == self._frame:
            self.leaves(params["requestId"])

    def commits(self, frame: dict[str, Any]) -> None:
        """A document is there (Page.frameNavigated): in a frame, the page's, or the browser's own
        page, which says that this one failed and has a load event, too."""
        if "parentId" in frame:
            return
        if "unreachableUrl" not in frame:
            self.committed, self._fired = True, False
            self.arrives(frame.get("url", ""))
        elif self.committed:
            self.error = f"the page moved on to {frame['unreachableUrl']}, which failed"

    def fires(self) -> None:
        """A document has fired its load event (Page.loadEventFired)."""
        self._fired |= self.committed
