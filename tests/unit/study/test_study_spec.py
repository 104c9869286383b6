"""A study's option is declared once: it is read, kept, offered or called file-only, documented."""

import re
from pathlib import Path

import msgspec
import pytest
from msgspec import structs

from dragstrip.cli.commands import load
from dragstrip.cli.study import race
from dragstrip.model.errors import InputError
from dragstrip.model.study import Client, Study, StudyOptions
from dragstrip.study import file
from dragstrip.study.file import StudyFile, read_spec
from dragstrip.study.presets import find_network, find_stack
from dragstrip.study.schema import study_schema
from dragstrip.study.spec import SpecOptions, StudySpec

ROOT = Path(__file__).parents[3]
SPEC = set(StudySpec.__struct_fields__)
NOT_IN_FILES = {"live", "ca"}
"""A study file is read by others on other days; a live site answers only now."""
ONLY_IN_FILES = {
    "controls_every",
    "sample",
    "slow",
    "stopping",
    "think_time",
    "thresholds",
    "warm_ups",
}
"""A race is a question asked once; what needs a plan has a file."""
MINIMAL = {"pages": ["demo"], "networks": ["LTE"], "stacks": ["h2", "h3"], "runs": 3}


def rows_of_the_reference() -> dict[str, str]:
    """The meaning of each key of a study file."""
    text = (ROOT / "docs/reference/study.md").read_text().partition("\n## ")[0]
    return dict(re.findall(r"(?m)^\| `(\w+)` \| (.*?) \|", text))


def test_every_option_is_a_key_of_the_file_or_named_as_none():
    assert set(StudyFile.__struct_fields__) - {"network", "stack", "server"} == SPEC - NOT_IN_FILES
    assert set(study_schema()["properties"]) == set(StudyFile.__struct_fields__)


def test_every_key_stands_with_its_meaning_in_the_reference():
    rows = rows_of_the_reference()
    assert set(rows) == set(StudyFile.__struct_fields__)
    assert [key for key, meaning in rows.items() if not meaning.strip()] == []


@pytest.mark.parametrize("key", sorted(set(SpecOptions.__struct_fields__) - {"name", "sample"}))
def test_the_reader_hands_on_what_the_file_says(key, monkeypatch):
    said = object()
    read = structs.replace(msgspec.convert(MINIMAL, StudyFile), **{key: said})
    monkeypatch.setattr(file, "_decode", lambda path: read)
    assert getattr(read_spec(Path("study.toml")), key) is said


CHECKED = {"runs", "restarts", "connections", "think_time", "addresses"}
"""What `resolve` looks at, so that no mere object can stand for it."""


def spec(**options) -> StudySpec:
    return StudySpec(
        **{
            "name": "s",
            "pages": ["synth:2x1KB"],
            "networks": [find_network("LTE")],
            "stacks": [find_stack("h2"), find_stack("h3")],
            "runs": 6,
            "seed": 0,
        }
        | options
    )


@pytest.mark.parametrize("key", sorted(set(StudyOptions.__struct_fields__) - CHECKED))
def test_the_study_keeps_what_was_asked_for(key, tmp_path):
    said = object()
    assert getattr(spec(**{key: said}).resolve(tmp_path), key) is said


def test_the_study_keeps_what_is_looked_at_too(tmp_path):
    asked = {
        "runs": 4,
        "restarts": 2,
        "connections": ("repeat",),
        "addresses": "one-each",
        "think_time": False,
    }
    assert asked.keys() == CHECKED
    study = spec(**asked).resolve(tmp_path)
    assert {key: getattr(study, key) for key in asked} == asked


def test_what_runs_repeats_no_option():
    own = {*Study.__annotations__} & set(StudyOptions.__struct_fields__)
    assert own == {"addresses"}  # older capsules omit it, and mean "one-each"


def test_a_race_offers_every_option_that_is_not_only_in_files(monkeypatch):
    filled = {}

    def fill(**options):
        filled.update(options)
        raise InputError("that is enough")

    monkeypatch.setattr(race, "StudySpec", fill)
    words = ["synth:2x1KB", "--network", "LTE", "--stack", "h2", "--stack", "h3"]
    with pytest.raises(InputError, match="enough"):
        load("race").main(words, standalone_mode=False)
    by_adapt = {"clock", "restarts"}
    assert set(filled) == SPEC - ONLY_IN_FILES - by_adapt


def test_a_spec_is_counted_before_its_pages_are_there():
    asked = spec(pages=["no such page"], controls=True, controls_every=4, client=Client())
    assert asked.visits_in(6) == 6 * 2 + 2 * 2
    assert asked.visits_per_block == 16 / 6
