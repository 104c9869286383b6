"""Errors of a browser; `dragstrip.model.errors` shows where each is caught."""

from dragstrip.model.errors import DragstripError


class BrowserError(DragstripError):
    """Raised if the browser refused a command, ended, or did not answer in time."""
