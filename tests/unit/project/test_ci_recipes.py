"""The recipes of docs/howto/ci.md and our own workflows are what their CI systems accept."""

import re
import shlex
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import yaml
from test_documented_commands import parse

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "howto" / "ci.md").read_text()
RECIPES = PAGE[PAGE.index("## In your CI system") : PAGE.index("## In real time")]
SHARDS = (ROOT / "docs" / "howto" / "shards.md").read_text()


def block(before: str, page: str = RECIPES) -> str:
    """The first block of code after this text."""
    found = re.search(r"\n\n((?:    .*\n|\n)+)", page[page.index(before) :])
    assert found
    return textwrap.dedent(found[1]).strip() + "\n"


INSTALL, GATE = block("`ci/install.sh` installs"), block("`ci/gate.sh` checks")
GITHUB, GITLAB, JENKINS = (block(f"### {name}") for name in ("GitHub Actions", "GitLab", "Jenkins"))
ACTION = block("### As a GitHub Action", PAGE)
MATRIX = block("A matrix of GitHub Actions:", SHARDS)


def refused(schema: str, file: Path) -> str:
    """Why the CI system's own schema refuses the file; empty if it does not."""
    argv = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}"]
    done = subprocess.run([*argv, str(file)], capture_output=True, text=True)
    return done.stdout + done.stderr if done.returncode else ""


def complaints(workflow: str) -> str:
    """What actionlint says of a workflow; empty if it accepts it. It checks names of runners,
    inputs of actions, expressions, and which actions GitHub still runs."""
    argv = [Path(sys.executable).with_name("actionlint"), "-no-color", "-shellcheck=", "-pyflakes="]
    done = subprocess.run([*argv, "-"], input=workflow, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


@pytest.mark.parametrize(("schema", "text"), [("github-workflows", GITHUB), ("gitlab-ci", GITLAB)])
def test_the_ci_system_s_schema_accepts_the_recipe(tmp_path, schema, text):
    file = tmp_path / "recipe.yml"
    file.write_text(text)
    assert not refused(schema, file)
    file.write_text(text.replace("timeout", "timeuot"))
    assert refused(schema, file), "the schema would find a fault"


@pytest.mark.parametrize("name", ["ci", "league", "publish", "release"])
def test_github_s_schema_accepts_our_workflows(name):
    assert not refused("github-workflows", ROOT / ".github" / "workflows" / f"{name}.yml")


@pytest.mark.parametrize("name", ["ci", "league", "publish", "release"])
def test_actionlint_accepts_our_workflows(name):
    assert not complaints((ROOT / ".github" / "workflows" / f"{name}.yml").read_text())


WORKFLOWS = {
    "by hand": GITHUB,
    "the action": f"on: pull_request\n{ACTION}",
    "shards": "on: push\njobs:\n  study:\n    runs-on: ubuntu-latest\n"
    + textwrap.indent(MATRIX, "    "),
}


@pytest.mark.parametrize("name", WORKFLOWS)
def test_actionlint_accepts_the_recipe(name):
    assert not complaints(WORKFLOWS[name])


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("github.base_ref", "github.bsae_ref"),
        ("ubuntu-latest", "ubuntu-lattest"),
        ("actions/checkout@v6", "actions/checkout@v4"),
        ("path: change", "where: change"),
    ],
)
def test_actionlint_finds_a_fault_that_the_schema_does_not(right, wrong):
    assert right in WORKFLOWS["the action"]
    assert complaints(WORKFLOWS["the action"].replace(right, wrong))


def test_github_s_schema_accepts_our_action():
    assert not refused("github-actions", ROOT / "action.yml")


def test_every_recipe_installs_races_and_keeps_what_it_wrote():
    github = yaml.safe_load(GITHUB)["jobs"]["page-load"]
    gitlab = yaml.safe_load(GITLAB)["page-load"]
    runs = [step["run"] for step in github["steps"] if "run" in step][:2]
    assert runs == ["sh ci/install.sh", "sh ci/gate.sh --annotate github"]
    assert gitlab["script"] == re.findall("sh '(.*)'", JENKINS) == [w.split(" --")[0] for w in runs]
    assert gitlab["artifacts"]["reports"]["junit"] == re.findall("junit '(.*)'", JENKINS)[0]
    assert gitlab["artifacts"]["when"] == "always"
    assert JENKINS.count("{") == JENKINS.count("}")
    assert github["container"] == gitlab["image"]
    assert f"image '{gitlab['image']}'" in JENKINS


def test_the_scripts_give_dragstrip_commands_that_it_has(tmp_path):
    """A stand-in for `dragstrip` records its arguments."""
    given = tmp_path / "given"
    fake = tmp_path / "dragstrip"
    fake.write_text(f'#!/bin/sh\nprintf "%s\\0" dragstrip "$@" >>{given}\necho >>{given}\n')
    fake.chmod(0o755)
    for name in ("apt-get", "ln", "python3"):
        (tmp_path / name).symlink_to(shutil.which("true"))
    installed = INSTALL.replace("/opt/dragstrip/bin/pip", "true")
    path = f"{tmp_path}:/usr/bin:/bin"
    for script in (installed, f"set -- --annotate github\n{GATE}"):
        argv = ["sh", "-c", script]
        subprocess.run(argv, cwd=tmp_path, env={"PATH": path}, check=True, timeout=60)
    commands = [line.split("\0")[:-1] for line in given.read_text().splitlines()]
    assert [words[1] for words in commands] == ["setup", "virtual", "servers", "race", "compare"]
    assert commands[-1][-2:] == ["--annotate", "github"]
    for words in commands:
        parse(shlex.join(words))
