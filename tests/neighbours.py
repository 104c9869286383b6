"""The recipes of docs/howto/neighbours.md, and the server that they are tried against."""

import contextlib
import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dragstrip.testbed.uplink.uplink import own_address

sys.path.append(str(Path(__file__).parents[1] / "bench" / "neighbours"))

import stream
from recipes import Figures, absent, measure, recipes, said, variables, with_options
from server import servers

RECIPES = {recipe.name: recipe for recipe in recipes()}
ROUND_TRIP_MS, MOST_MBPS = 100.0, 10.0 * 1448 / 1500
"""What the page's commands ask for: no program can be faster."""


@contextlib.contextmanager
def places(folder: Path) -> Iterator[dict[str, str]]:
    """Values of the variables in the commands."""
    address = own_address(socket.AF_INET)
    if address is None:
        pytest.skip("this machine has no such address of its own")
    defaults = {
        "CHROME_PATH": "/usr/bin/chromium-headless-shell",
        "CHROME": "/usr/bin/chromium",
        "CHROMEDRIVER": "/usr/bin/chromedriver",
    }
    with servers(address) as found:
        yield {**defaults, **os.environ, **variables(found), "OUT": str(folder)}


def check(name: str, folder: Path) -> None:
    """The recipe runs, and what it measured is no faster than the link."""
    if why := absent(name):
        pytest.skip(why)
    with places(folder) as where:
        found = measure(name, RECIPES[name].behind, where)
    assert found
    for what, figures in found.items():
        assert slow(figures), f"{name}, {what}: {figures}"


def slow(figures: Figures) -> bool:
    """Whether the recipes' link allows these figures; clocks of tools are off by a little."""
    trip_ms, mbps = figures
    said = trip_ms is not None or mbps is not None
    return (
        said
        and (trip_ms is None or trip_ms >= 0.99 * ROUND_TRIP_MS)
        and (mbps is None or mbps <= 1.02 * MOST_MBPS)
    )


__all__ = ["RECIPES", "Figures", "check", "places", "said", "slow", "stream", "with_options"]
