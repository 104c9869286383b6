"""Tools that drive a browser, behind the link: docs/howto/neighbours.md."""

import os

import pytest

from neighbours import check


def of_npm(tmp_path, name):
    if "BENCH_TOOLS" not in os.environ:
        pytest.skip("BENCH_TOOLS is not set")
    check(name, tmp_path)


def test_playwright_is_slowed_down_in_fetch_and_in_a_websocket(tmp_path):
    check("Playwright", tmp_path)


def test_lighthouse_sees_the_round_trip(tmp_path):
    of_npm(tmp_path, "Lighthouse")


def test_browsertime_sees_the_round_trip(tmp_path):
    of_npm(tmp_path, "browsertime")
