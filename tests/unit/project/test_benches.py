"""bench/README.md lists every bench, and what `make bench` runs takes less than an hour."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
LIST = ROOT / "bench" / "README.md"
RUNNER = "bench/__main__.py"
ROW = re.compile(r"^\| `python (\S+)(.*?)` \| (.+?) \| (.+?) \| (.*?) ?\|$", re.MULTILINE)


def rows(text: str) -> list[tuple[str, ...]]:
    """File or folder, arguments, what it measures, minutes, and what it makes."""
    return ROW.findall(text)


def programs() -> set[str]:
    """Every file that is run, a folder's by the folder's name."""
    found = {
        file.relative_to(ROOT).as_posix()
        for folder in ("bench", "packages/papers/bench")
        for file in (ROOT / folder).rglob("*.py")
        if 'if __name__ == "__main__":' in file.read_text()
    }
    return {name.removesuffix("/__main__.py") for name in found - {RUNNER}}


def test_the_list_names_every_bench_once():
    listed = [row[0] for row in rows(LIST.read_text())]
    assert len(listed) == len(set(listed))
    assert set(listed) == programs()


def test_every_line_of_its_tables_is_a_row():
    text = LIST.read_text()
    lines = [line for line in text.splitlines() if line.startswith("| `")]
    assert len(lines) == len(rows(text))


def test_the_pages_that_benches_make_are_there():
    for link in re.findall(r"\]\(([^)#]+)", LIST.read_text()):
        assert (LIST.parent / link).exists(), link


def test_make_bench_takes_less_than_an_hour():
    first, *_ = (part for part in LIST.read_text().split("\n## ")[1:])
    minutes = sum(float(row[3].removeprefix("~")) for row in rows(first))
    assert minutes < 60
    assert f"about {minutes:g} minutes" in " ".join(LIST.read_text().split())
