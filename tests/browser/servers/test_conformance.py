"""`dragstrip servers check` on a server that does everything, and on one that does little."""

import sys
from pathlib import Path

import pytest
from msgspec import structs

from dragstrip.conduct.conformance import conformance
from dragstrip.model.servers import known
from dragstrip.pages.generators.ranges import ranges_page
from dragstrip.pages.resolve import resolve
from dragstrip.study.servers import parse_server

TINY = Path(__file__).parents[2] / "programs" / "tiny_server.py"
PARTS = "sends the part of an object that is asked for"


def found(server, cache: Path) -> dict[str, str]:
    pages = resolve("synth:4x2KB", cache), ranges_page(cache)
    return {f"{f.protocol} {f.what}": f.outcome for f in conformance(server, *pages)}


@pytest.mark.parametrize("protocol", ["h1", "h2", "h3"])
def test_our_origin_does_all(protocol, tmp_path):
    server = structs.replace(known()["dragstrip-origin"], protocols=(protocol,))
    outcomes = found(server, tmp_path)
    assert outcomes[f"{protocol} {PARTS}"] == "yes"
    assert "no" not in outcomes.values(), outcomes


def test_a_server_without_ranges_is_told(tmp_path):
    tiny = parse_server(f"tiny={sys.executable} {TINY} {{config}}")
    outcomes = found(structs.replace(tiny, protocols=("h1",)), tmp_path)
    assert [what for what, outcome in outcomes.items() if outcome == "no"] == [f"h1 {PARTS}"]
