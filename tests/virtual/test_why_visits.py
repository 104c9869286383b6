"""`dragstrip why` on known ground, with a real browser: a held round trip beside two properties
that do nothing on this page."""

import json
import subprocess
import sys

STUDY = """
name = "known"
pages = ["synth:2x5KB"]
networks = ["LTE"]
stacks = ["h2", "late"]
runs = 1
[stack.late]
base = "h2"
hold_rtts = 1
tls = "1.2"
slow_start_after_idle = false
"""


def test_a_held_round_trip_gets_all_of_the_difference(tmp_path):
    study, out = tmp_path / "known.toml", tmp_path / "out"
    study.write_text(STUDY)
    argv = ["why", str(study), "--virtual", "--runs", "3", "--no-controls", "--json"]
    command = [sys.executable, "-c", "from dragstrip.cli import main; main()", *argv]
    done = subprocess.run([*command, "--out", str(out)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    (cell,) = found["cells"]
    parts = {part["factor"]: part["ratio"] for part in cell["parts"]}
    assert set(parts) == {"handshake", "tls", "tcp"}
    assert cell["ratio"] > 1.1
    assert abs(parts["handshake"] / cell["ratio"] - 1) < 0.04
    assert abs(parts["tls"] - 1) < 0.04
    assert abs(parts["tcp"] - 1) < 0.04
    assert "handshake round trips" in done.stderr
    report = (out / "report" / "index.html").read_text()
    assert "From h2 to late: what explains the difference" in report
