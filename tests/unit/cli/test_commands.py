"""Commands are loaded when they are needed, and are what the list says they are."""

import subprocess
import sys

import pytest
from typer.testing import CliRunner

from dragstrip.cli import app
from dragstrip.cli.commands import COMMANDS, load


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_says_what_a_command_says_of_itself(name):
    command = load(name)
    said = " ".join(command.help.partition("\n\n")[0].split())
    assert said == COMMANDS[name].summary


def test_the_list_loads_no_command():
    code = (
        "import sys\n"
        "from dragstrip.cli import app\n"
        "app(['--help'], standalone_mode=False)\n"
        "loaded = [m for m in sys.modules if m.startswith('dragstrip.cli.')]\n"
        "print(loaded, file=sys.stderr)\n"
        "assert not {'polars', 'numpy', 'PIL', 'dragstrip.cli.study.race'} & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert all(known.hidden or name in done.stdout for name, known in COMMANDS.items())


@pytest.mark.parametrize(
    "argv", [["stacks", "diff", "--help"], ["server", "check", "--help"], ["link", "--help"]]
)
def test_commands_and_their_own_commands_are_found(argv):
    found = CliRunner().invoke(app, argv)
    assert found.exit_code == 0
    assert "completion" not in found.output
