"""Chromium slows its page down, and a script shows it, whatever the page did to the clock."""

import os
import tempfile
from pathlib import Path

import pytest
from msgspec import structs

from conftest import CLIENT
from dragstrip.browsers.chromium import chromium_at, here

REPLACED = "performance.now = () => 0; Math.min = () => NaN"


@pytest.mark.parametrize("page", ["0", REPLACED], ids=["a page", "a page that stops its clock"])
def test_the_script_finds_that_the_page_is_slower(tmp_path, page):
    """The test asserts no exact factor, because other programs use the CPUs too."""
    if not os.geteuid():
        for folder in (tmp_path, *tmp_path.parents):
            if folder == Path(tempfile.gettempdir()):
                break
            folder.chmod(0o755)  # the browser is not root
    client = structs.replace(CLIENT, cpu_slowdown=4.0)
    with chromium_at(here(tmp_path), "h2", client) as browser, browser.fresh_tab(client) as tab:
        browser.cdp.call("Runtime.evaluate", tab.session, expression=page)
        assert tab.slowdown() > 1.5
