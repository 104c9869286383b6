"""Reads descriptions of the model's fields from the docstrings below them.

Tables of columns or limits therefore always agree with the model.
"""

import ast
import inspect
from collections.abc import Mapping
from functools import cache
from types import ModuleType


@cache
def docstrings(module: ModuleType) -> Mapping[str, Mapping[str, str]]:
    """Return the docstrings below the fields and properties of a module's records, by record and
    field."""
    tree = ast.parse(inspect.getsource(module))
    return {c.name: _fields(c) for c in tree.body if isinstance(c, ast.ClassDef)}


def _fields(record: ast.ClassDef) -> dict[str, str]:
    found: dict[str, str] = {}
    for node, after in zip(record.body, [*record.body[1:], ast.Pass()], strict=True):
        text: str | None = None
        if isinstance(node, ast.FunctionDef):
            name, text = node.name, ast.get_docstring(node)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            name = node.target.id
            if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                text = str(after.value.value)
        if text:
            found[name] = " ".join(text.split())
    return found
