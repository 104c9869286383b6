"""Every browser that may be recorded with a capsule has a version."""

from typing import get_args

import pytest

from dragstrip.browsers.chromium import browser_version
from dragstrip.model.browsers import TODAY, Browser
from dragstrip.testbed.errors import TestbedError


@pytest.mark.parametrize("browser", sorted({*get_args(Browser)} - {TODAY}))
def test_an_old_browser_says_which_it_is(browser):
    try:
        said = browser_version(browser)
    except TestbedError as error:
        pytest.skip(str(error))
    assert said.startswith(f"Chromium {browser.removeprefix('chromium')}.0.")
