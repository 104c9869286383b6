"""Other tools behind the link: docs/howto/neighbours.md, command by command."""

import os

import pytest

from neighbours import RECIPES, Figures, check, slow

BROWSERS = {"Playwright", "Lighthouse", "browsertime"}


@pytest.mark.parametrize("name", sorted(RECIPES.keys() - BROWSERS))
def test_a_recipe_runs_and_nothing_is_faster_than_its_link(name, tmp_path):
    if os.geteuid():
        pytest.skip("needs root: interfaces are made in this network namespace")
    check(name, tmp_path)


def test_every_recipe_asks_for_the_network_of_the_table():
    assert len(RECIPES) >= 9
    for recipe in RECIPES.values():
        link = "dragstrip link --down 10mbit --up 10mbit --delay 50ms -- "
        assert recipe.behind == link + recipe.alone
        assert recipe.own is None or not recipe.own.startswith("dragstrip")


@pytest.mark.parametrize(
    "figures", [Figures(40, None), Figures(None, 20), Figures(101, 10), Figures(None, None)]
)
def test_a_tool_that_the_link_does_not_slow_down_is_found(figures):
    assert not slow(figures)
    assert slow(Figures(101, 9.6))
