"""docs/howto/migrate.md: each link that it shows can be made."""

import os
import shlex
from pathlib import Path

import pytest
from inside import run

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "migrate.md"
COMMANDS = [
    line.strip() for line in PAGE.read_text().splitlines() if line.startswith("    dragstrip link ")
]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_link_of_the_page_is_made(command, tmp_path, monkeypatch):
    (tmp_path / "down.trace").write_text("1\n2\n3\n")
    (tmp_path / "up.trace").write_text("5\n10\n")
    monkeypatch.chdir(tmp_path)
    options = shlex.split(command.partition(" -- ")[0])[2:]
    done = run("link", *options, "--", "sh", "-c", "exit 7")
    assert done.returncode == 7, done.stderr
    if "--trace" in options:
        assert "4 Mbit/s" in done.stderr or "12 Mbit/s" in done.stderr
    assert os.listdir(tmp_path)


def test_the_page_shows_links():
    assert len(COMMANDS) >= 3
