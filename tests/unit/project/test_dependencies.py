"""Each package imports what it declares, and of others only what they publish."""

import ast
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[3]
SOURCES = {
    "dragstrip": ROOT / "src/dragstrip",
    "dragstrip-papers": ROOT / "packages/papers/src/dragstrip_papers",
}
BUILT_IN = {"compression", *sys.stdlib_module_names}
"""`compression` is built in from Python 3.14."""


def foreign(path: Path) -> Iterator[str]:
    """Modules of other packages that a file imports, and names that it takes from them."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in found:
            if name.partition(".")[0] not in BUILT_IN:
                yield name


def imported(package: str) -> dict[str, str]:
    """The last file that imports each foreign name."""
    folder = SOURCES[package]
    return {
        name: str(path.relative_to(folder))
        for path in sorted(folder.rglob("*.py"))
        for name in foreign(path)
        if name.partition(".")[0] != folder.name
    }


@pytest.mark.parametrize("package", SOURCES)
def test_no_private_name_of_another_package_is_imported(package):
    names = imported(package)
    assert {"polars", "typer"} <= set(names)
    private = [name for name in names if any(p.startswith("_") for p in name.split("."))]
    assert private == []


@pytest.mark.parametrize("package", SOURCES)
def test_every_imported_package_is_declared(package):
    declared = {canonicalize_name(Requirement(text).name) for text in requires(package) or []}
    ours = {folder.name: [name] for name, folder in SOURCES.items()}
    brought_by = {**packages_distributions(), **ours}
    missing = {
        name: path
        for name, path in imported(package).items()
        if not declared & {canonicalize_name(d) for d in brought_by.get(name.split(".")[0], [])}
    }
    assert missing == {}


def test_the_papers_are_for_the_same_version_of_dragstrip():
    cargo = tomllib.loads((ROOT / "Cargo.toml").read_text())
    version = cargo["workspace"]["package"]["version"]
    assert f"dragstrip=={version}" in (requires("dragstrip-papers") or [])
