"""Link and origin alone, all programs, and the tests build dependencies with the same features."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[3]
ALL = ("--workspace", "--edges", "normal,build,dev")
PROGRAMS = ("--workspace", "--edges", "normal,build")
DEMO = ("-p", "dragstrip-link", "-p", "dragstrip-origin", "--edges", "normal,build")


def built(*which: str) -> set[str]:
    """The packages that such a build compiles, each with its features."""
    form = ("--prefix", "none", "--format", "{p} {f}")
    argv = [ROOT / "scripts" / "cargo", "tree", "--locked", "--offline", *form, *which]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=True)
    return {line.removesuffix(" (*)") for line in done.stdout.splitlines()}


def test_no_dependency_is_built_twice():
    demo, programs, everything = built(*DEMO), built(*PROGRAMS), built(*ALL)
    assert len(demo) > 50
    assert demo <= programs <= everything
