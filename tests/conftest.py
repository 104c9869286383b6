"""Fixtures of tests with real namespaces and browsers, and the reasons why such tests skip."""

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings

import ours
from dask_processes import Processes, dask_processes
from dragstrip.browsers.generations import find_chromium
from dragstrip.execution.guest.kernel.recipe import kernel
from dragstrip.testbed.errors import TestbedError
from dragstrip.testbed.net.namespaces import namespaces
from dragstrip.testbed.programs import program
from nobody import NOBODY
from strict import pytest_make_collect_report, pytest_runtest_makereport

__all__ = ["pytest_make_collect_report", "pytest_runtest_makereport"]

# A busy machine is no defect of the code under test.
settings.register_profile("no-deadline", deadline=None)
settings.load_profile("no-deadline")

FOLDERS = ("unit", "golden", "virtual", "schedule", "browser", "net")
"""The quick ones first. Of the others, each part of scripts/test begins with its longest files, so
that no core is idle at its end."""
BUDGET_S = 35 * 60
"""Time after which no more real namespaces and browsers begin. They take five minutes on two cores,
and a machine that is ten times slower would otherwise take hours."""
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


def pytest_configure() -> None:
    ours.take_folder()


def pytest_unconfigure() -> None:
    ours.remove_folder()


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


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    """A Dask scheduler and three workers, for tests that leave them alive."""
    with dask_processes(tmp_path_factory.mktemp("dask"), 3) as running:
        running.wait_for_workers()
        yield running


@pytest.fixture
def home() -> Path:
    """A folder of an ordinary user. `tmp_path` is not enough: whenever another pytest starts on
    this machine, it closes these folders to other users."""
    own = Path(tempfile.mkdtemp(prefix="home-"))
    if not os.geteuid():
        os.chown(own, NOBODY, NOBODY)
    return own
