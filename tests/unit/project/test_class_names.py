"""One class name means one thing, wherever it stands."""

import ast
from collections import defaultdict
from pathlib import Path

import dragstrip

SOURCE = Path(dragstrip.__file__).parent
FOREIGN = ("pages/format/har.py",)
"""Named by a standard."""


def test_no_two_modules_define_a_class_of_the_same_name():
    where = defaultdict(list)
    for file in sorted(SOURCE.rglob("*.py")):
        path = file.relative_to(SOURCE)
        if path.as_posix() in FOREIGN:
            continue
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                where[node.name].append(path.as_posix())
    assert len(where) > 300
    assert {name: files for name, files in where.items() if len(files) > 1} == {}
