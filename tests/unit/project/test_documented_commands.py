"""Commands that the documentation shows are commands that dragstrip has."""

import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.core import TyperGroup
from typer.main import get_command

from dragstrip.cli import app

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
GENERATED = ROOT / "docs" / "reference" / "commands.md"
SHELL = {"&&", "||", "|", "&", ">", "2>", ";", "done"}


def shown(text: str) -> Iterator[str]:
    """The commands of dragstrip in a page's blocks of code."""
    fenced, begun = False, ""
    for line in text.splitlines():
        if line.strip().startswith("```"):
            fenced, begun = not fenced, ""
        elif fenced or line.startswith("    "):
            whole = begun + line.strip()
            begun = f"{whole[:-1]} " if whole.endswith("\\") else ""
            found = re.search(r"(?:^|\$ |&& )(dragstrip [a-z].*)", whole)
            if found and not begun:
                yield found[1]


def words(command: str) -> Iterator[str]:
    for word in shlex.split(command, comments=True)[1:]:
        if word in SHELL:
            return
        yield word.removesuffix(";")
        if word.endswith(";"):
            return


def parse(command: str) -> None:
    """Raises as the command line does, without running anything."""
    name, found, rest, parent = "dragstrip", get_command(app), list(words(command)), None
    while True:
        parent = found.make_context(name, rest, parent=parent)
        if not isinstance(found, TyperGroup) or not rest:
            return
        chosen, found, rest = found.resolve_command(parent, [*parent._protected_args, *parent.args])
        assert found
        name = chosen or ""


EXAMPLES = [
    pytest.param(command, id=f"{page.relative_to(ROOT)}: {command[:60]}")
    for page in PAGES
    if page != GENERATED
    for command in shown(page.read_text())
]


def test_the_documentation_shows_commands():
    assert len(EXAMPLES) > 100


@pytest.mark.parametrize("command", EXAMPLES)
def test_a_command_that_the_documentation_shows_can_be_given(command):
    parse(command)


def compares(command: str) -> bool:
    """Whether a race has two stacks, or none that the example names."""
    given = list(words(command))
    stacks, servers = given.count("--stack"), given.count("--server")
    return given[0] != "race" or not stacks or stacks * max(1, servers) > 1


@pytest.mark.parametrize("command", EXAMPLES)
def test_a_race_that_the_documentation_shows_has_something_to_compare(command):
    assert compares(command)


def test_a_race_of_one_stack_is_found():
    assert not compares("dragstrip race demo --network LTE --stack h2")
    assert compares("dragstrip race demo --network LTE --server a --server b --stack h2")


@pytest.mark.parametrize("command", ["dragstrip race demo --networks LTE", "dragstrip rase demo"])
def test_a_command_that_does_not_exist_is_found(command):
    with pytest.raises(Exception, match="No such"):
        parse(command)


def test_the_command_line_s_page_names_every_command():
    every = re.findall(r"^## (dragstrip .+)$", GENERATED.read_text(), re.MULTILINE)
    table = (ROOT / "docs" / "reference" / "command-line.md").read_text()
    named = re.findall(r"^\| \[`(dragstrip [^`]+)`\]\(commands\.md#", table, re.MULTILINE)
    plain = [" ".join(word for word in name.split() if word.islower()) for name in named]
    assert sorted(plain) == sorted(every)


def test_the_architecture_s_diagrams_show_the_layers_that_imports_obey():
    contracts: list[dict[str, Any]] = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"][
        "importlinter"
    ]["contracts"]
    page = (ROOT / "docs" / "explanation" / "architecture.md").read_text()
    diagrams = [part.split("───")[0].strip() for part in page.split("```text")[1:3]]
    drawn = [
        [re.findall(r"\w+", line.strip().split("  ")[0]) for line in diagram.splitlines()]
        for diagram in diagrams
    ]
    layers = [one["layers"] for one in contracts if one["type"] == "layers"]
    assert drawn == [[re.findall(r"\.(\w+)", layer) for layer in one] for one in layers]
