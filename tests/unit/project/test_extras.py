"""Without the extras nothing of them is installed, imported or needed."""

import subprocess
import sys
from importlib.metadata import requires

import pytest

RACE = ["race", "synth:2x1KB", "--network", "LTE", "--stack", "h2", "--stack", "h3", "--runs", "1"]
OURS = ("dask", "distributed", "starlette", "uvicorn")


def python(code: str, *argv: str, home: object) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", code, *argv],
        capture_output=True,
        text=True,
        env={"PATH": "/usr/bin:/bin", "HOME": str(home)},
    )


def test_a_plain_install_brings_none_of_them():
    plain = [need for need in requires("dragstrip") or [] if "extra ==" not in need]
    assert plain
    assert not [need for need in plain if need.lower().startswith(OURS)]


def test_no_command_imports_them_before_it_is_asked_to(tmp_path):
    code = f"""
import sys
from dragstrip.cli.commands import COMMANDS, load
for name in COMMANDS:
    load(name)
import dragstrip, dragstrip.conduct.visits, dragstrip.report.site.site
print([name for name in {OURS} if name in sys.modules])
"""
    assert python(code, home=tmp_path).stdout == "[]\n"


@pytest.mark.parametrize(
    ("missing", "argv", "said"),
    [
        ("distributed", [*RACE, "--cluster", "local:1", "--no-calibrate"], "dragstrip[cluster]"),
        ("uvicorn", [*RACE, "--watch"], "dragstrip[watch]"),
    ],
)
def test_without_an_extra_it_says_what_to_install(missing, argv, said, tmp_path):
    code = f"import sys; sys.modules[{missing!r}] = None\nfrom dragstrip.cli import main; main()"
    done = python(code, *argv, "--out", str(tmp_path / "c"), home=tmp_path)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert said in done.stderr


def test_other_machines_are_only_of_a_cluster(tmp_path):
    code = "from dragstrip.cli import main; main()"
    done = python(code, *RACE, "--admit-other-machines", home=tmp_path)
    assert done.returncode == 2
    assert "--cluster" in done.stderr
