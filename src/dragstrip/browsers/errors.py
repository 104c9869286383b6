"""What can go wrong with a browser; `dragstrip.model.errors` shows who catches it."""

from dragstrip.model.errors import DragstripError


class BrowserError(DragstripError):
    """The browser refused a command, ended, or did not answer in time."""
