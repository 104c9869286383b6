"""The action's comment says what `compare` said; its workflow calls what exists."""

import importlib.util
import json
import re
import sys
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

import made_capsule
from dragstrip.cli import app

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def action():
    spec = importlib.util.spec_from_file_location("action_race", ROOT / "action" / "race.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def compared(folder: Path, factor: float) -> dict:
    times = [1000.0 + 7 * i for i in range(12)]
    made_capsule.capsule(folder / "base", {"h2": times, "h3": times})
    slower = {"h2": times, "h3": [t * factor for t in times]}
    made_capsule.capsule(folder / "change", slower)
    argv = ["compare", str(folder / "base"), str(folder / "change"), "--json"]
    argv += ["--fail-if", "slower > 5%"]
    return json.loads(CliRunner().invoke(app, argv, standalone_mode=False).stdout)


def test_a_slower_stack_is_named_first(tmp_path, action):
    text = action.comment(compared(tmp_path, 1.2), run_url="https://ci.test/run/1")
    lines = text.splitlines()
    assert lines[0] == action.MARK
    assert lines[1] == "### dragstrip: slower than allowed"
    (row,) = (line for line in lines if line.startswith("| made over LTE | h3 | plt_ms |"))
    assert re.search(r"\| 1\.200 \(1\.\d+ to 1\.\d+\) \| 12 \|$", row)
    assert any("slower > 5%" in line and "failed for h3 on made over LTE" in line for line in lines)
    assert not any("for h2" in line for line in lines)
    assert "https://ci.test/run/1" in text


def test_no_difference_is_no_regression(tmp_path, action):
    assert "### dragstrip: no regression shown" in action.comment(compared(tmp_path, 1.0))


def test_the_action_calls_what_exists():
    read = yaml.safe_load((ROOT / "action.yml").read_text())
    steps = read["runs"]["steps"]
    assert all("shell" in step for step in steps if "run" in step)
    script = "\n".join(step.get("run", "") for step in steps)
    called = set(re.findall(r'\$GITHUB_ACTION_PATH/([\w/.]+)"', script))
    assert called == {"action/race.py"}
    named = set(re.findall(r"inputs\.([\w-]+)", (ROOT / "action.yml").read_text()))
    assert named == set(read["inputs"])


@pytest.mark.parametrize("name", ["ci", "release"])
def test_the_workflows_call_what_exists(name):
    read = yaml.safe_load((ROOT / ".github/workflows" / f"{name}.yml").read_text())
    runs = [step["run"] for job in read["jobs"].values() for step in job["steps"] if "run" in step]
    for path in re.findall(r"(?:scripts|\.ci)/\w+", "\n".join(runs)):
        assert (ROOT / path).is_file()
