"""One answer for each of the papers' claims, from the answers of all runs; and what to run next.

    uv run python packages/papers/bench/papers.py                          # papers.*, plan.md
    uv run python packages/papers/bench/papers.py --add capsules/KEY NAME  # a folder's answers too

`--add` keeps them in docs/results/answers/NAME.json, their page of claims as NAME.md, and the loads
they rest on as loads/NAME.parquet. The same command takes them again.
"""

import argparse
import shutil
from pathlib import Path

import msgspec

from dragstrip_papers.campaign.pace import pace
from dragstrip_papers.claims import KEYS, published
from dragstrip_papers.kept import FILE
from dragstrip_papers.overall.campaign import campaigns
from dragstrip_papers.overall.given import of_folder, read, write
from dragstrip_papers.overall.headline import headlines
from dragstrip_papers.overall.needs import powers
from dragstrip_papers.overall.plan import already_made, plan
from dragstrip_papers.overall.rows import Row, rows
from dragstrip_papers.report import overall, overall_plan

DOCS = Path(__file__).parents[3] / "docs"
RESULTS = DOCS / "results"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--add", nargs=2, action="append", default=[], metavar=("FOLDER", "NAME"))
    for folder, name in parser.parse_args().add:
        add(Path(folder), name)
    for name, text in pages().items():
        (RESULTS / name).write_text(text)


def add(folder: Path, name: str) -> None:
    """The answers of a paper's folder, and its page of claims. Raises `InputError`."""
    command = f"uv run python packages/papers/bench/papers.py --add {folder} {name}"
    write(RESULTS / "answers", of_folder(folder, name, command))
    shutil.copy(folder / "claims.md", RESULTS / f"{name}.md")
    shutil.copy(folder / FILE, RESULTS / "loads" / f"{name}.parquet")


def pages() -> dict[str, str]:
    """The text of each file, by name. Raises `InputError` for a headline that no longer holds."""
    known = powers(DOCS / "reference" / "claims-power.json")
    given = read(RESULTS / "answers")
    found = rows(map(published, KEYS), given, known)
    steps = plan(found, known, pace(), campaigns(), already_made(given))
    return {
        "papers.md": overall.page(found, headlines(RESULTS / "headlines.toml")),
        "papers.json": as_json(found),
        "plan.md": overall_plan.page(found, steps, pace(), {k: published(k).rules for k in KEYS}),
    }


def as_json(found: list[Row]) -> str:
    """One line per claim."""
    return "[\n" + ",\n".join(msgspec.json.encode(row).decode() for row in found) + "\n]\n"


if __name__ == "__main__":
    main()
