"""Completions and the manual page are what shells and man take."""

import os
import re
import shutil
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from dragstrip.cli import app
from dragstrip.cli.commands import COMMANDS
from dragstrip.cli.usage import every


def completed(words, at):
    """The completions that bash gets for the word at this place."""
    env = {"COMP_WORDS": words, "COMP_CWORD": str(at), "_DRAGSTRIP_COMPLETE": "complete_bash"}
    argv = [
        sys.executable,
        "-c",
        "import sys; sys.argv[0] = 'dragstrip'; from dragstrip.cli import main; main()",
    ]
    done = subprocess.run(argv, env={**os.environ, **env}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_commands_options_and_names_are_completed():
    assert completed("dragstrip rep", 1) == ["reproduce", "report"]
    assert "--stack" in completed("dragstrip race --st", 2)
    assert completed("dragstrip race demo --network LT", 4) == [
        "LTE",
        "LTE+dns",
        "LTE+doh",
        "LTE+grants",
    ]
    assert "h3-altsvc" in completed("dragstrip race demo --stack h3", 4)


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("wols", ["wolsing2019"]),
        ("wolsing2019 --network D", ["DSL", "DA2GC"]),
        ("wolsing2019 --stack QUIC", ["QUIC", "QUIC+BBR"]),
        ("wolsing2019 --page wolsing2019/standin-09", ["wolsing2019/standin-09"]),
        ("cook2017 --study cook2017-s", ["cook2017-servers"]),
        ("ranjan2019 --claim 0", [f"0{n}" for n in range(1, 10)]),
        ("nobody2019 --network ", []),
    ],
)
def test_reproduce_completes_what_the_paper_has(words, found):
    typed = f"dragstrip reproduce {words}"
    assert completed(typed, len(typed.split(" ")) - 1) == found


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_a_script_it_can_read(shell, tmp_path, monkeypatch):
    printed = CliRunner().invoke(app, ["completion", shell], standalone_mode=False)
    assert printed.exception is None
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    installed = CliRunner().invoke(app, ["completion", shell, "--install"], standalone_mode=False)
    assert installed.exception is None
    (script,) = (path for path in tmp_path.rglob("*dragstrip*") if path.is_file())
    assert script.read_text() == printed.stdout
    if shutil.which(shell):
        assert subprocess.run([shell, "-n", str(script)]).returncode == 0


def test_the_manual_page_has_every_command_and_option():
    page = CliRunner().invoke(app, ["manual"]).stdout
    for usage in every():
        assert f"\\fB{usage.name}\\fR".replace("-", "\\-") in page
        for option in usage.options:
            assert option.names.replace("-", "\\-") in page
    shown = {usage.name.split()[0] for usage in every()}
    assert shown == {name for name, known in COMMANDS.items() if not known.hidden}


@pytest.mark.skipif(not shutil.which("man"), reason="man is not installed")
def test_man_reads_the_manual_page_without_a_warning(tmp_path):
    path = tmp_path / "dragstrip.1"
    path.write_text(CliRunner().invoke(app, ["manual"]).stdout)
    argv = ["man", "--warnings", "-l", str(path)]
    done = subprocess.run(
        argv, capture_output=True, text=True, env={**os.environ, "MANPAGER": "cat"}
    )
    assert done.stderr == ""
    assert "race demo" in done.stdout or "Race stacks on pages" in done.stdout


def test_every_option_that_takes_a_value_says_its_default():
    silent = [
        f"{usage.name} {option.names}"
        for usage in every()
        for option in usage.options
        if ("<" in option.names or "|" in option.names)
        and not re.search(r"default|required", option.help, re.IGNORECASE)
    ]
    assert silent == []


def test_a_list_of_the_commands_cuts_no_summary_short():
    listed = CliRunner().invoke(app, ["--help"], terminal_width=80).stdout
    assert "..." not in listed.partition("Commands:")[2]
