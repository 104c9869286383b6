"""One answer for each of the papers' claims, from the answers of all runs; and what to run next.

    uv run python packages/papers/bench/papers.py                          # README, papers, plan
    uv run python packages/papers/bench/papers.py --add capsules/KEY NAME  # a folder's answers too
    uv run python packages/papers/bench/papers.py --again                  # from all kept loads

`--add` keeps them in docs/results/answers/NAME.json, their page of claims as NAME.md, and the loads
they rest on as loads/NAME.parquet. The same command takes them again. `--again` answers with all
tables of docs/results/loads by today's rules.
"""

import argparse
import shutil
from pathlib import Path

from dragstrip_papers import kept
from dragstrip_papers.kept import FILE
from dragstrip_papers.overall.again import answered
from dragstrip_papers.overall.given import of_findings, of_folder, read, write
from dragstrip_papers.report.claims import markdown
from dragstrip_papers.report.overall_pages import pages

DOCS = Path(__file__).parents[3] / "docs"
RESULTS = DOCS / "results"
POWER = DOCS / "reference" / "claims-power.json"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--add", nargs=2, action="append", default=[], metavar=("FOLDER", "NAME"))
    parser.add_argument("--again", action="store_true", help="answer again from all kept loads")
    asked = parser.parse_args()
    for folder, name in asked.add:
        add(Path(folder), name)
    if asked.again:
        again()
    for name, text in pages(RESULTS, POWER).items():
        (RESULTS / name).write_text(text)


def add(folder: Path, name: str) -> None:
    """The answers of a paper's folder, and its page of claims. Raises `InputError`."""
    command = f"uv run python packages/papers/bench/papers.py --add {folder} {name}"
    write(RESULTS / "answers", of_folder(folder, name, command))
    shutil.copy(folder / "claims.md", RESULTS / f"{name}.md")
    shutil.copy(folder / FILE, RESULTS / "loads" / f"{name}.parquet")


def again() -> None:
    """The answers of all kept loads by today's rules, and their pages of claims."""
    commands = {given.page: given.command for given in read(RESULTS / "answers")}
    for file in sorted((RESULTS / "loads").glob("*.parquet")):
        found = answered(kept.read(file))
        given = of_findings(found, file, file.stem, commands[file.stem])
        write(RESULTS / "answers", given)
        (RESULTS / f"{file.stem}.md").write_text(markdown(found))
        print(f"{file.stem}: {', '.join(f'{n} {v}' for v, n in found.verdicts.items() if n)}")


if __name__ == "__main__":
    main()
