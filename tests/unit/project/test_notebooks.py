"""The notebooks run on the bundled capsule, which is small and holds our own visits."""

import sys
from pathlib import Path

import pytest

import dragstrip
from dragstrip_papers.claims import KEYS

FOLDER = Path(__file__).parents[3] / "docs" / "notebooks"
sys.path.append(str(FOLDER))


@pytest.mark.parametrize("key", KEYS)
# Jupyter's own libraries warn of each other.
@pytest.mark.filterwarnings("default")
def test_a_notebook_runs_and_shows_tables_and_a_figure(key):
    from execute import execute

    done = execute(FOLDER / f"{key}.ipynb")
    shown = [out for cell in done.cells for out in cell.get("outputs", [])]
    kinds = {kind for out in shown for kind in out.get("data", {})}
    assert {"text/html", "image/svg+xml"} <= kinds
    assert not [out for out in shown if out["output_type"] == "error"]


def test_the_bundled_capsule_is_small_and_counts():
    capsule = FOLDER / "capsule"
    assert sum(f.stat().st_size for f in capsule.rglob("*") if f.is_file()) < 1_000_000
    visits = dragstrip.open(capsule).visits()
    blocks = visits.filter("valid").group_by("page", "network", "stack").len()
    assert len(blocks) == 24
    assert blocks["len"].min() >= 5
