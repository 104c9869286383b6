"""The schema of study files accepts what is shipped and documented, and nothing misspelt."""

import re
import textwrap
import tomllib
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

import dragstrip.study
from dragstrip.study import file
from dragstrip.study.schema import schema_text, study_schema

ROOT = Path(__file__).parents[3]
SHIPPED = sorted((ROOT / "packages/papers/src/dragstrip_papers").glob("*/study*.toml"))
SCHEMA = Path(dragstrip.study.__file__).with_name("study.schema.json")
VALIDATOR = Draft202012Validator(study_schema())


def errors(text: str) -> list[str]:
    return [error.message for error in VALIDATOR.iter_errors(tomllib.loads(text))]


def test_the_schema_is_one_and_the_shipped_file_is_it():
    Draft202012Validator.check_schema(study_schema())
    assert SCHEMA.read_text() == schema_text(), "run: dragstrip schema > " + str(SCHEMA)


def test_there_are_shipped_studies():
    assert len(SHIPPED) >= 8


@pytest.mark.parametrize("study", SHIPPED, ids=lambda p: f"{p.parent.name}/{p.name}")
def test_every_shipped_study_validates_and_announces_its_schema(study):
    text = study.read_text()
    assert errors(text) == []
    announced = re.match(r"#:schema (\S+)\n", text)
    assert announced, f"{study} lacks its #:schema line"
    assert (study.parent / announced[1]).resolve() == SCHEMA.resolve()


def test_the_example_of_the_reader_validates():
    assert errors((file.__doc__ or "").partition("\n\n")[2]) == []


MINIMAL = 'pages = ["demo"]\nnetworks = ["100mbit/50ms"]\nstacks = ["h2", "h3"]\nruns = 3\n'


@pytest.mark.parametrize(
    ("planted", "said"),
    [
        ("run = 3", "'run' was unexpected"),
        ("[stopping]\nmargins = 0.1", "'margins' was unexpected"),
        ("[client]\ntimeout = 3", "'timeout' was unexpected"),
        ("[network.n]\nup = {}\ndown = { rate_mpbs = 1 }", "'rate_mpbs' was unexpected"),
        ("[network.n]\nup = {}", "'down' is a required property"),
        ('[stack.s]\nbase = "h2"\ncongestion = "vegas"', "'vegas' is not one of"),
        ("[thresholds]\nsteal_share = 2", "2 is greater than the maximum of 1"),
        ('[server.s]\ncomand = "x"', "'comand' was unexpected"),
    ],
)
def test_a_planted_mistake_is_found(planted, said):
    assert errors(MINIMAL) == []
    found = errors(MINIMAL + planted + "\n")
    assert len(found) == 1
    assert said in found[0]


def test_every_key_says_what_it_is():
    schema = study_schema()
    for name, field in schema["properties"].items():
        assert "description" in field or "$ref" in field, name


def snippets() -> list[tuple[str, dict]]:
    """Indented blocks of the documentation that are TOML with a key of a study."""
    known = set(study_schema()["properties"])
    found = []
    for path in sorted((ROOT / "docs").glob("*/*.md")):
        for number, block in enumerate(re.findall(r"(?m)(?:^(?: {4}.*)?\n)+", path.read_text())):
            try:
                read = tomllib.loads(textwrap.dedent(block))
            except tomllib.TOMLDecodeError:
                continue
            if known & set(read) and path.parent.name in ("howto", "tutorial", "reference"):
                found.append((f"{path.name}:{number}", read))
    return found


SNIPPETS = snippets()


@pytest.mark.parametrize(("where", "read"), SNIPPETS, ids=[where for where, _ in SNIPPETS])
def test_what_the_documentation_shows_validates(where, read):
    partial = Draft202012Validator(study_schema() | {"required": []})
    assert [error.message for error in partial.iter_errors(read)] == []


def test_the_documentation_shows_studies():
    assert len(SNIPPETS) >= 5
