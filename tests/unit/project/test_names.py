"""No command or address in this repository names what the project has not registered.

A registry gives a free name to the first person that asks, whose code would run on our readers'
machines. So a command names a file, a folder, or an action by its path. CONTRIBUTING.md, "Publish",
says how names are registered; then they join `OWNED`.
"""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
OWNED: frozenset[str] = frozenset()
"""Registered names of this project, such as ``dragstrip``."""
ACTIONS = ("./", "actions/")
"""Where an action may come from."""
_GAP = r"[\"', ]+"
_MANAGERS = (
    *("pip", "pip3", "uv pip", "uv tool", "pipx", "poetry", "pdm", "conda", "mamba", "brew", "gem"),
    *("npm", "yarn", "pnpm", "cargo", "go", "apt", "apt-get"),
)
_INSTALLERS = (
    rf"\b(?:{'|'.join(_MANAGERS)}){_GAP}(?:-\S+{_GAP})*(?:install|add|i|get|run|exec|inject)\b",
    r"\b(?:uvx|npx|uv add|uv run --with)\b|--from\b",
    r"\b(?:podman|docker) (?:run|pull|build|create)\b|^FROM\b|\bimage:",
)
INSTALLER = re.compile("|".join(_INSTALLERS))
NAME = re.compile(r"(?<![\w./=$-])(?P<name>dragstrip(?:-[a-z]+)*)(?:\[[^]]*\])?\S*")
ADDRESS = re.compile(r"(?:https?://|git@|git\+)[^\s)\"'`]*dragstrip[^\s)\"'`]*")


def unowned(text: str) -> list[str]:
    """The names and addresses in a text that are not ours: of packages, images and actions."""
    found = []
    for line in re.sub(r"\\\n\s*", " ", text).splitlines():
        asks = INSTALLER.search(line)
        if asks:
            found += _named(line[asks.end() :])
        found += [address[0] for address in ADDRESS.finditer(line)]
        if uses := re.search(r"\buses: *([^\s#]+)", line):
            found += [] if uses[1].startswith(ACTIONS) else [uses[1]]
    return found


def _named(arguments: str) -> list[str]:
    """Names among what follows an installer. A file (``@ file:``) may come after one."""
    command = re.split(r"[;&|#`]", arguments)[0]
    return [
        match["name"]
        for match in NAME.finditer(command)
        if match["name"] not in OWNED and not command[match.end() :].lstrip().startswith("@")
    ]


@pytest.mark.parametrize(
    "text",
    [
        "pip install dragstrip",
        "pip install 'dragstrip[cluster]'",
        "pip install --quiet dragstrip==0.1.0",
        "uv tool install dragstrip-*.whl",
        "uvx dragstrip race",
        "uv run --with dragstrip python",
        "cargo install dragstrip-link",
        "npm install dragstrip-spdy-origin",
        "- uses: dragstrip/dragstrip@v0",
        "docker run --rm \\\n    dragstrip race demo",
        "podman build -t dragstrip .",
        "image: dragstrip:0.1",
        "FROM dragstrip",
        "subprocess.run(['pip', 'install', 'dragstrip'])",
        "git clone https://example.com/them/dragstrip",
        "pip install git+ssh://git@example.com/them/dragstrip",
    ],
)
def test_an_unowned_name_is_found(text):
    assert unowned(text)


@pytest.mark.parametrize(
    "text",
    [
        "pip install ./dragstrip-0.1.0-py3-none-any.whl",
        "pip install 'dragstrip[watch] @ file:///x/d.whl'",
        "pip install './dragstrip-0.1.0-py3-none-any.whl[cluster]'",
        "uv tool install ./dragstrip-*.whl && dragstrip doctor",
        "uses: ./change/dragstrip",
        "uses: actions/checkout@v6",
        "podman build -t localhost/dragstrip .",
        "docker run localhost/dragstrip",
        "image: registry.example/dragstrip:0.1",
        "pip install asyncssh    # where dragstrip is",
    ],
)
def test_a_file_or_one_of_our_places_is_none(text):
    assert not unowned(text)


def test_no_file_names_what_is_not_ours():
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    asked = {}
    for name in listed.stdout.splitlines():
        path = ROOT / name
        if path == Path(__file__) or not path.is_file():
            continue
        try:
            found = unowned(path.read_text(encoding="utf-8"))
        except UnicodeDecodeError:
            continue  # a picture, a font, a table
        if found:
            asked[name] = found
    assert asked == {}
