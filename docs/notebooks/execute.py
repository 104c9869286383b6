"""Runs every notebook of this folder and keeps what it printed: python docs/notebooks/execute.py"""

from pathlib import Path

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).parent


def execute(file: Path) -> nbformat.NotebookNode:
    """The notebook with its outputs. Raises `nbclient.exceptions.CellExecutionError`."""
    notebook = nbformat.read(file, as_version=4)
    place = {"metadata": {"path": str(HERE)}}
    NotebookClient(notebook, timeout=300, resources=place, record_timing=False).execute()
    return notebook


if __name__ == "__main__":
    for found in sorted(HERE.glob("*.ipynb")):
        nbformat.write(execute(found), found)
