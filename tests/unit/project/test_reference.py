"""The generated pages of the reference are those of today's code."""

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


def generator():
    path = ROOT / "scripts" / "reference.py"
    spec = importlib.util.spec_from_file_location("reference", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


PAGES = generator().pages()


@pytest.mark.parametrize("name", PAGES)
def test_a_generated_page_is_up_to_date(name):
    path = ROOT / "docs" / "reference" / name
    assert path.read_text() == PAGES[name], "run: scripts/uv run python scripts/reference.py"


def test_every_column_says_what_it_is():
    rows = [line for line in PAGES["tables.md"].splitlines() if line.startswith("| `")]
    assert len(rows) > 100
    assert [row for row in rows if not row.split("|")[2].strip()] == []
