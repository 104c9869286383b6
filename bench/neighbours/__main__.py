"""How far off each tool is: alone, with its own throttling, and behind `dragstrip link`.

    python bench/neighbours [TOOL...] [--write]

Runs the commands of docs/howto/neighbours.md, and prints the page's table or writes it. Of three
runs the least round trip and the median rate count, because a busy machine only adds to a round
trip. BENCH_TOOLS names the folders with the programs that come from npm (`npm install
lighthouse@12.2.3`, `npm install --ignore-scripts browsertime@26.3.2 playwright-core@1.57.0
hls.js@1.7.4`, then their node_modules/.bin), joined by colons; CHROME_PATH, CHROME and CHROMEDRIVER
name the browser and Debian's driver.
"""

import os
import re
import socket
import sys
import tempfile
from collections.abc import Mapping
from statistics import median

from recipes import PAGE, Figures, Recipe, absent, measure, recipes, variables
from server import servers

from dragstrip.testbed.uplink.uplink import own_address

_RUNS = 3
_NOT_RUN = {"browsertime": "sets tc, not run"}
ASKED_MS, ASKED_MBPS = 100.0, 10.0
SMALL_BYTES = 125
"""About a small packet: 0.1 ms at 10 Mbit/s."""
PAYLOAD, PACKET = 1448, 1500
"""Bytes of TCP in a full packet of Ethernet, with timestamps (RFC 7323)."""


def main() -> None:
    address = own_address(socket.AF_INET)
    assert address, "this machine has no address of its own"
    defaults = {
        "CHROME_PATH": "/usr/bin/chromium-headless-shell",
        "CHROME": "/usr/bin/chromium",
        "CHROMEDRIVER": "/usr/bin/chromedriver",
    }
    wanted = [word for word in sys.argv[1:] if not word.startswith("--")]
    rows = []
    with servers(address) as found, tempfile.TemporaryDirectory() as out:
        places = {**defaults, **os.environ, **variables(found), "OUT": out}
        for recipe in recipes():
            if wanted and recipe.name not in wanted:
                continue
            if why := absent(recipe.name):
                print(f"{recipe.name}: {why}", file=sys.stderr)
                continue
            rows += _rows(recipe, places)
    for row in rows:
        print(row)
    if "--write" in sys.argv:
        text = PAGE.read_text()
        table = "".join(f"{row}\n" for row in rows)
        PAGE.write_text(re.sub(r"(?<=\|---\|\n)(\|.*\n)+", lambda _: table, text, count=1))


def _rows(recipe: Recipe, places: Mapping[str, str]) -> list[str]:
    alone = _typical(recipe.name, recipe.alone, places)
    own = _typical(recipe.name, recipe.own, places) if recipe.own else {}
    behind = _typical(recipe.name, recipe.behind, places)
    small_ms = SMALL_BYTES * 8 / ASKED_MBPS / 1000
    truth = Figures(ASKED_MS + small_ms, ASKED_MBPS * PAYLOAD / PACKET)
    rows = []
    for what, found in behind.items():
        exact = Figures(*(t if f is not None else None for t, f in zip(truth, found, strict=True)))
        cells = (
            recipe.name,
            what,
            _words(alone[what]),
            _words(own[what], exact) if own else _NOT_RUN.get(recipe.name, "has none"),
            _words(found, exact),
            _words(exact),
        )
        rows.append(f"| {' | '.join(cells)} |")
    return rows


def _typical(name: str, command: str, places: Mapping[str, str]) -> dict[str, Figures]:
    runs = [measure(name, command, places) for _ in range(_RUNS)]
    return {
        what: Figures(
            None if found.round_trip_ms is None else min(run[what].round_trip_ms for run in runs),
            None if found.mbps is None else median(run[what].mbps for run in runs),
        )
        for what, found in runs[0].items()
    }


def _words(figures: Figures, truth: Figures | None = None) -> str:
    """``100.4 ms (+0.3 %), 9.64 Mbit/s (-0.1 %)``, with how far off each is."""
    said = []
    for value, exact, unit, digits in (
        (figures.round_trip_ms, truth and truth.round_trip_ms, "ms", 1),
        (figures.mbps, truth and truth.mbps, "Mbit/s", 2),
    ):
        if value is not None:
            number = f"{value:,.0f}" if value >= 200 else f"{value:.{digits}f}"
            off = f" ({value / exact - 1:+.1%})".replace("%", " %") if exact else ""
            said.append(f"{number} {unit}{off}")
    return ", ".join(said) or "-"


if __name__ == "__main__":
    main()
