"""Other tools behind the link: docs/howto/neighbours.md, command by command."""

import json
import os
import shlex
import socket
import subprocess
import time
import urllib.error
import urllib.request

import pytest
from inside import dragstrip, environment

from neighbours import RECIPES, Figures, check, places, said, slow, with_options

BROWSERS = {"Playwright", "Playwright in Firefox", "hls.js", "Lighthouse", "browsertime"}


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


def test_every_option_is_shown():
    shown = {"--profile", "--trace", "--ports", "--control", "--expose", "--json"}
    assert with_options().keys() == shown


def printed(option: str, folder):
    """What a recipe with this option prints, on stdout and stderr."""
    (folder / "trace.txt").write_text("0 8\n100 8\n")
    with places(folder) as where:
        return said(with_options()[option], {**where, "TRACE": str(folder / "trace.txt")})


@pytest.mark.parametrize(
    ("option", "least_s", "most_mbps"), [("--profile", 0.150, 1.6), ("--trace", 0.040, 8.0)]
)
def test_a_preset_and_a_trace_slow_curl_down(option, least_s, most_mbps, tmp_path):
    out, _ = printed(option, tmp_path)
    connect_s, bytes_per_s = map(float, out.split())
    assert connect_s >= least_s
    assert bytes_per_s * 8 / 1e6 <= most_mbps


def test_other_ports_are_left_alone(tmp_path):
    _, summary = printed("--ports", tmp_path)
    assert "down 0 packets" in summary


def test_a_program_changes_the_link_around_it(tmp_path):
    out, _ = printed("--control", tmp_path)
    assert json.loads(out)["before_ms"] >= 20
    assert json.loads(out)["after_ms"] >= 200


def test_the_summary_says_what_was_carried(tmp_path):
    out, _ = printed("--json", tmp_path)
    down = json.loads(out)["down"]
    assert down["bytes_out"] > 1_000_000
    assert down["asked"]["rate_mbps"] == 10


def test_a_server_behind_the_link_answers_late():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = with_options()["--expose"].replace("$PORT", str(port))
    argv = dragstrip(*shlex.split(command)[1:])
    with subprocess.Popen(argv, env=environment(), stderr=subprocess.PIPE, text=True) as running:
        took_s = first_answer_s(f"http://127.0.0.1:{port}/", running)
        running.terminate()
    assert took_s >= 0.100  # what a client asks and what it gets cross the link


def first_answer_s(url: str, running) -> float:
    """How long the first answer took of a server that is being started."""
    while running.poll() is None:
        began = time.monotonic()
        try:
            with urllib.request.urlopen(url, timeout=20) as answer:
                answer.read()
            return time.monotonic() - began
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.1)
    raise AssertionError(running.stderr.read())
