"""`dragstrip reproduce --from FOLDER`: prints only the answers that kept loads give."""

from collections import Counter
from pathlib import Path

from rich.console import Console

from dragstrip.cli import exits
from dragstrip.report.words.numbers import DASH


def answer_from(folder: Path, key: str, out: Path | None) -> int:
    """Print one answer for each claim of the papers whose tables are in a folder. Raises
    `InputError` for an unknown paper, and for a folder without its tables."""
    from dragstrip_papers.overall.again import rows_of  # loads slowly
    from dragstrip_papers.report.overall_pages import as_json

    found = rows_of(folder, key)
    console = Console()
    for row in found:
        apart = f"direction {row.direction or DASH}, size {row.size or DASH}"
        told = f"{row.id}: {row.answer} ({apart}; {row.page or DASH}) {row.ours}"
        console.print(told.rstrip(), highlight=False, markup=False, soft_wrap=True)
    counts = Counter(row.answer for row in found)
    console.print(", ".join(f"{n} {answer}" for answer, n in counts.most_common()), highlight=False)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        (out / "papers.json").write_text(as_json(found), encoding="utf-8")
    return exits.DONE
