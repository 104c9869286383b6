"""Every browser that may be recorded with a capsule has a version, and says what it really is."""

import re

import pytest

from dragstrip.browsers.generations import generation_of
from dragstrip.browsers.registry import browser_version
from dragstrip.model.browsers import BROWSERS, CHROMIUM, FIREFOX, LOADER, TODAY, WPE
from dragstrip.testbed.errors import TestbedError
from dragstrip.version import __version__

OLD = sorted({*BROWSERS} - {TODAY, CHROMIUM, FIREFOX, LOADER, WPE})


def version(browser: str) -> str:
    try:
        return browser_version(browser)
    except TestbedError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("browser", OLD)
def test_an_old_browser_says_which_it_is(browser):
    assert version(browser).startswith(f"Chromium {browser.removeprefix('chromium')}.0.")


def test_the_load_generator_says_which_it_is():
    assert version(LOADER) == f"dragstrip-loader {__version__}"


def test_webkit_says_which_it_is_and_whence():
    assert re.fullmatch(r"WPE WebKit 2\.[\w.+-]+ \(Debian sid, 20\d\d-\d\d-\d\d\)", version(WPE))


def test_firefox_says_which_it_is():
    assert version(FIREFOX).startswith("Firefox 1")


def script(folder, said):
    program = folder / "chrome"
    program.write_text(f"#!/bin/sh\necho '{said}'\n")
    program.chmod(0o755)
    return str(program)


def test_two_builds_of_one_version_differ(tmp_path):
    """The other build prints the same version from other bytes."""
    first = browser_version(script(tmp_path, "Chromium 156.0.1.2 built on Debian"))
    again = browser_version(script(tmp_path, "Chromium 156.0.1.2 built on Debian"))
    other = browser_version(script(tmp_path, "Chromium 156.0.1.2 built on Debian  "))
    assert first.startswith("Chromium 156.0.1.2, build ")
    assert first == again != other


def test_a_program_that_is_no_chromium_is_refused(tmp_path):
    with pytest.raises(TestbedError, match="does not name a Chromium: 'GNU bash'"):
        browser_version(script(tmp_path, "GNU bash"))
    with pytest.raises(TestbedError, match="no such program"):
        browser_version(str(tmp_path / "nothing"))


def test_the_whole_chromium_says_which_it_is():
    assert version(CHROMIUM).startswith("Chromium 1")


@pytest.mark.parametrize(
    ("name", "whole"), [("google-chrome", True), ("chrome-headless-shell", False)]
)
def test_the_users_own_chromium_is_a_whole_browser_unless_its_name_says_headless(name, whole):
    assert generation_of(f"/opt/{name}").whole is whole
