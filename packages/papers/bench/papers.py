"""One answer for each of the papers' claims, from the answers of all runs; and what to run next.

    uv run python packages/papers/bench/papers.py                          # README, papers, plan
    uv run python packages/papers/bench/papers.py --add capsules/KEY NAME  # a folder's answers too

`--add` keeps them in docs/results/answers/NAME.json, their page of claims as NAME.md, and the loads
they rest on as loads/NAME.parquet. The same command takes them again.
"""

import argparse
import shutil
from pathlib import Path

from dragstrip_papers.kept import FILE
from dragstrip_papers.overall.given import of_folder, write
from dragstrip_papers.report.overall_pages import pages

DOCS = Path(__file__).parents[3] / "docs"
RESULTS = DOCS / "results"
POWER = DOCS / "reference" / "claims-power.json"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--add", nargs=2, action="append", default=[], metavar=("FOLDER", "NAME"))
    for folder, name in parser.parse_args().add:
        add(Path(folder), name)
    for name, text in pages(RESULTS, POWER).items():
        (RESULTS / name).write_text(text)


def add(folder: Path, name: str) -> None:
    """The answers of a paper's folder, and its page of claims. Raises `InputError`."""
    command = f"uv run python packages/papers/bench/papers.py --add {folder} {name}"
    write(RESULTS / "answers", of_folder(folder, name, command))
    shutil.copy(folder / "claims.md", RESULTS / f"{name}.md")
    shutil.copy(folder / FILE, RESULTS / "loads" / f"{name}.parquet")


if __name__ == "__main__":
    main()
