"""The action's script races two sides in turns, as a pull request would."""

import json
import os
import subprocess
import sys
from pathlib import Path

import ours
from dragstrip.cli.exits import STAYED_INVALID

SCRIPT = Path(__file__).parents[2] / "action" / "race.py"
STUDY = """
name = "gate"
pages = ["synth:4x20KB"]
networks = ["side"]
stacks = ["h2", "h3"]
runs = 2
seed = 7
controls = false

[network.side]
down = {{ rate_mbps = {rate}, delay_ms = 20, queue_ms = 200 }}
up = {{ rate_mbps = 4, delay_ms = 20, queue_ms = 200 }}
"""


def test_two_sides_race_in_turns_and_the_comment_says_how_they_differ(tmp_path):
    before = ours.left()
    for side, rate in (("base", 4), ("change", 2)):
        (tmp_path / side).mkdir()
        (tmp_path / side / "gate.toml").write_text(STUDY.format(rate=rate))
    argv = [sys.executable, str(SCRIPT), "base/gate.toml", "change/gate.toml", "--virtual", "no"]
    argv += ["--out", "gate", "--fail-if", "down_bytes higher > 50%"]
    done = subprocess.run(
        argv,
        cwd=tmp_path,
        env={**os.environ, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode in (0, STAYED_INVALID), done.stderr
    answer = json.loads((tmp_path / "gate" / "compare.json").read_text())
    assert done.returncode == (STAYED_INVALID if answer["stayed_invalid"] else 0), done.stderr
    turns = [line.split()[-1] for line in done.stderr.splitlines() if line.startswith("round")]
    assert turns == ["base", "change", "change", "base"]
    comment = (tmp_path / "gate" / "comment.md").read_text()
    for stack in ("h2", "h3"):
        assert f"| synth-4x20KB over side | {stack} | plt |" in comment
    assert "network side differs" in comment
    assert {row["stack"] for row in answer["differences"]} == {"h2", "h3"}
    for side in ("base", "change"):
        assert (tmp_path / "gate" / side / "report" / "index.html").is_file()
    assert ours.left() == before
