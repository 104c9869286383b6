"""Makes the published pages on all claims from the answers of all runs."""

from pathlib import Path

import msgspec

from dragstrip_papers.campaign.pace import pace
from dragstrip_papers.claims import KEYS, published
from dragstrip_papers.overall import summary
from dragstrip_papers.overall.campaign import campaigns
from dragstrip_papers.overall.clocks import by_clock
from dragstrip_papers.overall.given import read
from dragstrip_papers.overall.headline import headlines
from dragstrip_papers.overall.needs import powers
from dragstrip_papers.overall.plan import already_made, plan
from dragstrip_papers.overall.rows import Row, rows
from dragstrip_papers.report import overall, overall_clocks, overall_plan


def pages(results: Path, power: Path) -> dict[str, str]:
    """Return the text of each file, by file name. `results` is the folder of results, `power` the
    file with the claims' power.

    Raises `InputError` for a headline or a sentence that no longer holds.
    """
    known = powers(power)
    given = read(results / "answers")
    papers = [published(key) for key in KEYS]
    found = rows(papers, given, known)
    kept = {file.stem for file in (results / "loads").glob("*.parquet")}
    made = already_made(page for page in given if page.page in kept)
    steps = plan(found, known, pace(), campaigns(), made)
    return {
        "README.md": summary.read(results / "summary.toml").page(found, kept),
        "papers.md": overall.page(found, headlines(results / "headlines.toml")),
        "papers.json": as_json(found),
        "clocks.md": overall_clocks.page(by_clock(papers, found, given)),
        "plan.md": overall_plan.page(
            found, steps, pace(), {paper.key: paper.rules for paper in papers}
        ),
    }


def as_json(found: list[Row]) -> str:
    """Write the rows as JSON, one claim per line."""
    return "[\n" + ",\n".join(msgspec.json.encode(row).decode() for row in found) + "\n]\n"
