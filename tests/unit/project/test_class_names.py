"""Classes and folders have names that are nouns, name one thing, and stand in the vocabulary."""

import re
from collections import defaultdict
from pathlib import Path

import dragstrip
import dragstrip_papers

SOURCE = Path(dragstrip.__file__).parent
SOURCES = (SOURCE, Path(dragstrip_papers.__file__).parent)
VOCABULARY = Path(__file__).parents[3] / "docs/explanation/vocabulary.md"
FOREIGN = ("pages/format/har.py",)
"""Named by a standard."""
CLASS = re.compile(r"^class ([A-Za-z]\w*)", re.M)
PARTICIPLE = re.compile(r"(?:[a-z]ed|Found|Given|Kept|Lost|Made|Ran|Shown|Spent|Struck|Told)$")
NOUNS = ("Seed", "Speed", "Testbed")
NOT_YET = {
    *("Abandoned", "Lost", "Merged"),  # of Dask, and of merging
    *("Compared", "Gated", "Pooled"),  # of JSON outputs
    *("Damaged", "Failed", "GuestEnded", "Malformed", "ProgramEnded"),  # errors
    *("Allowed", "Decided", "Measured", "Observed", "Played", "Recorded", "Served"),
    *("Given", "Kept", "Made", "Published", "Ran", "Told"),
}
"""Participles that are not renamed yet. The set only shrinks."""


def test_no_two_modules_define_a_class_of_the_same_name():
    where = defaultdict(list)
    for file in sorted(SOURCE.rglob("*.py")):
        path = file.relative_to(SOURCE)
        if path.as_posix() in FOREIGN:
            continue
        for name in CLASS.findall(file.read_text()):
            where[name].append(path.as_posix())
    assert len(where) > 300
    assert {name: files for name, files in where.items() if len(files) > 1} == {}


def test_a_class_is_named_by_a_noun():
    files = (file for source in SOURCES for file in source.rglob("*.py"))
    names = {name for file in files for name in CLASS.findall(file.read_text())}
    found = {name for name in names if PARTICIPLE.search(name) and not name.endswith(NOUNS)}
    assert found <= NOT_YET


def test_a_folder_is_a_word_of_the_vocabulary():
    listed = set(re.findall(r"\*\*([a-z0-9]+)\*\*", VOCABULARY.read_text()))
    folders = {
        folder
        for source in SOURCES
        for file in source.rglob("*.py")
        for folder in file.relative_to(source).parts[:-1]
        if not re.fullmatch(r"[a-z]+20\d\d", folder)  # a paper
    }
    assert {f for f in folders if not {f, f.removesuffix("s"), f"{f}s"} & listed} == set()
