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
from itertools import takewhile
from pathlib import Path

import msgspec

from dragstrip_papers import kept
from dragstrip_papers.answers.findings import Findings
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
    command = f"uv run python packages/papers/bench/papers.py --add {folder.name} {name}"
    write(RESULTS / "answers", of_folder(folder, name, command))
    found = msgspec.json.decode((folder / "claims.json").read_bytes(), type=Findings)
    shutil.copy(folder / FILE, RESULTS / "loads" / f"{name}.parquet")
    show(found, name)


def again() -> None:
    """The answers of all kept loads by today's rules, and their pages of claims."""
    commands = {given.page: given.command for given in read(RESULTS / "answers")}
    for file in sorted((RESULTS / "loads").glob("*.parquet")):
        found = answered(kept.read(file))
        given = of_findings(found, file, file.stem, commands[file.stem])
        write(RESULTS / "answers", given)
        show(found, file.stem)
        print(f"{file.stem}: {', '.join(f'{n} {v}' for v, n in found.verdicts.items() if n)}")


def show(found: Findings, name: str) -> None:
    """Write a page of claims, with the way to its loads and the notes that it has."""
    file = RESULTS / f"{name}.md"
    title, _, rest = markdown(found, f"loads/{name}.parquet").partition("\n\n")
    file.write_text("\n\n".join([title, *notes(file), rest]))


def notes(file: Path) -> list[str]:
    """What people noted on a page: the paragraphs below its title that begin in bold."""
    if not file.exists():
        return []
    _, *paragraphs = file.read_text().split("\n\n")
    return list(takewhile(lambda text: text.startswith("**"), paragraphs))


if __name__ == "__main__":
    main()
