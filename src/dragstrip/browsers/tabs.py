"""A load in whichever browser: those of today, and Chromium 53 with its own dialect of DevTools."""

from contextlib import AbstractContextManager

from dragstrip.browsers import load as today
from dragstrip.browsers import load53
from dragstrip.browsers.chromium import Chromium
from dragstrip.browsers.chromium53 import Chromium53
from dragstrip.browsers.load import Load
from dragstrip.model.study import Client

Driven = Chromium | Chromium53


def fresh_tab(
    browser: Driven, client: Client, recorded_ms: float | None = None
) -> AbstractContextManager[str]:
    """See `dragstrip.browsers.load.fresh_tab`."""
    if isinstance(browser, Chromium53):
        return load53.fresh_tab(browser, client, recorded_ms)
    return today.fresh_tab(browser, client, recorded_ms)


def load(browser: Driven, session: str, url: str, client: Client) -> Load:
    """See `dragstrip.browsers.load.load`."""
    if isinstance(browser, Chromium53):
        return load53.load(browser, url, client)
    return today.load(browser, session, url, client)
