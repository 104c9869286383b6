"""The program imports what it declares, and of others only what they publish."""

import ast
import sys
from collections.abc import Iterator
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

SRC = Path(__file__).parents[3] / "src/dragstrip"
BUILT_IN = {"dragstrip", "compression", *sys.stdlib_module_names}
"""`compression` is built in from Python 3.14."""
FILES = sorted(SRC.rglob("*.py"))


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


@pytest.fixture(scope="module")
def imported() -> dict[str, Path]:
    return {name: path for path in FILES for name in foreign(path)}


def test_no_private_name_of_another_package_is_imported(imported):
    assert {"polars", "typer"} <= set(imported)
    private = [
        f"{path.relative_to(SRC)}: {name}"
        for name, path in imported.items()
        if any(part.startswith("_") for part in name.split("."))
    ]
    assert private == []


def test_every_imported_package_is_declared(imported):
    declared = {canonicalize_name(Requirement(text).name) for text in requires("dragstrip") or []}
    brought_by = packages_distributions()
    missing = {
        name: str(path.relative_to(SRC))
        for name, path in imported.items()
        if not declared & {canonicalize_name(d) for d in brought_by.get(name.split(".")[0], [])}
    }
    assert missing == {}
