"""What tests of real namespaces and browsers need, or why they skip."""

import os
import shutil
import subprocess
import tempfile
import time
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings

from dragstrip.browsers.generations import find_chromium
from dragstrip.testbed.errors import TestbedError
from dragstrip.testbed.net.namespaces import namespaces
from dragstrip.testbed.programs import program
from dragstrip.virtual.kernel.recipe import kernel
from nobody import NOBODY
from strict import pytest_make_collect_report, pytest_runtest_makereport

__all__ = ["pytest_make_collect_report", "pytest_runtest_makereport"]

# A busy machine is no defect of the code under test.
settings.register_profile("no-deadline", deadline=None)
settings.load_profile("no-deadline")

FOLDERS = ("unit", "golden", "schedule", "net", "browser", "virtual")
"""The quick ones first."""
BUDGET_S = 35 * 60
"""After which no more real namespaces and browsers are begun: a machine three times slower than the
two cores on which all takes a quarter of an hour would otherwise be at it for hours."""
_BEGAN = time.monotonic()
_TESTS = Path(__file__).parent


@cache
def _no_namespaces() -> str:
    try:
        program("dragstrip-link")
        with namespaces() as spaces:
            spaces.run("client", "true")
    except TestbedError as error:
        return str(error)
    return ""


@cache
def _no_browser() -> str:
    try:
        find_chromium()
    except TestbedError as error:
        return str(error)
    return "" if shutil.which("certutil") else "certutil is missing: apt-get install libnss3-tools"


@cache
def _no_kernel() -> str:
    try:
        program("dragstrip-link")
        kernel()
    except TestbedError as error:
        return str(error)
    return ""


@cache
def _own_folder() -> Path:
    """A temporary folder for one of several workers. What testbeds leave behind is looked for in
    it, and those of the other workers are no leftovers."""
    folder = Path(tempfile.mkdtemp(prefix="dragstrip-tests-"))
    folder.chmod(0o1777)  # tests become ordinary users
    return folder


def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput"):
        os.environ["TMPDIR"] = tempfile.tempdir = str(_own_folder())


def pytest_unconfigure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput"):
        shutil.rmtree(_own_folder())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: FOLDERS.index(_folder(item)))
    for item in items:
        folder = _folder(item)
        if folder in ("net", "browser", "virtual"):
            item.add_marker(folder)


def _folder(item: pytest.Item) -> str:
    return item.path.relative_to(_TESTS).parts[0]


def pytest_runtest_setup(item: pytest.Item) -> None:
    missing = ""
    if item.get_closest_marker("virtual"):
        missing = _no_kernel() or _no_browser()
    if item.get_closest_marker("net") or item.get_closest_marker("browser"):
        missing = _no_namespaces()
        if time.monotonic() - _BEGAN > BUDGET_S:
            missing = f"this machine is too slow: {BUDGET_S // 60} minutes are gone"
    if not missing and item.get_closest_marker("browser"):
        missing = _no_browser()
    if missing:
        pytest.skip(missing)


@pytest.fixture
def host_state():
    """What must look the same after a testbed is gone."""

    def look() -> tuple[str, ...]:
        commands = (["ip", "-o", "link"], ["ip", "netns"], ["lsns", "-n", "-t", "net", "-o", "NS"])
        return tuple(
            subprocess.run(argv, capture_output=True, text=True).stdout for argv in commands
        )

    return look


@pytest.fixture
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of an ordinary user's own, that he can reach."""
    own = tmp_path_factory.mktemp("home")
    for folder in (own, *own.parents[:3]):  # of the worker, the run and the user
        if not folder.stat().st_mode & 0o005:
            folder.chmod(0o755)
    if not os.geteuid():
        os.chown(own, NOBODY, NOBODY)
    return own
