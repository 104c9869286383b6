"""Uploads in virtual time, by a browser and by the load generator: whole, timed and explained."""

import json
import subprocess
import sys

import pytest

from dragstrip.conduct.visits import make_visits
from dragstrip.model.clock import NETWORK
from dragstrip.model.study import Client
from dragstrip.results.capsule import Capsule
from dragstrip.study.clients import loaded_by
from dragstrip.study.presets import find_network, find_stack
from dragstrip.study.spec import StudySpec
from dragstrip.visit.uploads import upload_ms, uploads

SIZE = 200_000
WINDOW = """
name = "window"
pages = ["synth:1x1MB:post"]
networks = ["100mbit/100ms"]
stacks = ["small", "h2"]
runs = 1
[stack.small]
base = "h2"
flow_window_bytes = 65535
"""


@pytest.mark.parametrize("client", ["chromium", "loader"])
def test_an_upload_is_part_of_the_load_over_each_protocol(tmp_path, client):
    stacks = [find_stack(name) for name in ("h1", "h2", "h3")]
    of = StudySpec(
        name="uploads",
        pages=[f"synth:3x5KB+2x{SIZE}B:post"],
        networks=[find_network("20mbit/20ms")],
        stacks=loaded_by(stacks, "loader") if client == "loader" else stacks,
        runs=1,
        seed=1,
        client=Client(),
        clock=NETWORK,
    ).resolve(tmp_path)
    make_visits(of, tmp_path / "out")
    visits = list(Capsule.open(tmp_path / "out").visits())
    assert len(visits) == 3
    for visit in visits:
        assert visit.valid, visit.reasons
        found = uploads(visit)
        assert [u.bytes for u in found] == [SIZE] * 2
        images = [r.end_ms for r in visit.requests if r.method == "GET"]
        assert min(u.start_ms for u in found) >= max(images)
        assert visit.plt_ms >= max(u.received_ms for u in found)
        assert upload_ms(visit) >= 2 * SIZE * 8 / 20_000  # the rate up


def test_a_small_window_is_found_by_experiment_and_seen_on_the_wire(tmp_path):
    study = tmp_path / "window.toml"
    study.write_text(WINDOW)
    argv = ["why", str(study), "--virtual", "--runs", "2", "--no-controls", "--json"]
    command = [sys.executable, "-c", "from dragstrip.cli import main; main()", *argv]
    done = subprocess.run(
        [*command, "--out", str(tmp_path / "out")], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    (cell,) = json.loads(done.stdout)["cells"]
    (part,) = cell["parts"]
    assert part["factor"] == "flow-control"
    assert part["ratio"] == pytest.approx(cell["ratio"])
    assert cell["ratio"] < 0.9
    (pointer,) = cell["evidence"]["pointers"]
    assert (pointer["stack"], pointer["cause"], pointer["side"]) == ("small", "window", "up")
    assert pointer["granted"] == 65535
