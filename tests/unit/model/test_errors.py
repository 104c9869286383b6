"""All expected errors have one root, and the command line prints each in one line."""

import ast
import pickle
import signal
from pathlib import Path

import pytest

import dragstrip
from dragstrip import cli
from dragstrip.browsers.errors import BrowserError
from dragstrip.cli import exits
from dragstrip.model.errors import DragstripError, InputError
from dragstrip.testbed.errors import GuestEnded, ProgramEnded, TestbedError

SOURCE = Path(dragstrip.__file__).parent
BUILT_IN = {"Exception", "RuntimeError", "OSError"}
SIGNALS = {"Abandoned", "Lost", "Missing", "NotOpen", "TimeUp"}
"""Exceptions that stop a task; their folder catches them."""


@pytest.fixture(autouse=True)
def _signals():
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize(
    ("error", "code", "cure"),
    [
        (InputError, exits.WRONG_INPUT, ""),
        (TestbedError, exits.NO_TESTBED, "dragstrip doctor"),
        (BrowserError, exits.NO_TESTBED, "dragstrip doctor"),
        (ProgramEnded, exits.NO_TESTBED, "visits made before are kept"),
        (GuestEnded, exits.NO_TESTBED, "visits made before are kept"),
    ],
)
def test_an_expected_error_ends_the_program_in_one_line(error, code, cure, monkeypatch, capsys):
    def fail(**_):
        raise error("made up")

    monkeypatch.setattr(cli, "app", fail)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    said = capsys.readouterr().err
    assert ended.value.code == code
    assert said.startswith("dragstrip: made up")
    assert said.count("\n") == 1
    assert cure in said


def test_an_unexpected_error_keeps_its_traceback(monkeypatch):
    def fail(**_):
        raise RuntimeError("made up")

    monkeypatch.setattr(cli, "app", fail)
    with pytest.raises(RuntimeError, match="made up"):
        cli.main()


def test_there_is_one_root():
    roots = {
        node.name
        for file in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.ClassDef)
        and any(isinstance(base, ast.Name) and base.id in BUILT_IN for base in node.bases)
    }
    assert roots - SIGNALS == {DragstripError.__name__}


@pytest.mark.parametrize("error", [InputError, TestbedError, ProgramEnded, GuestEnded])
def test_an_error_of_another_process_is_the_same_here(error):
    sent = pickle.loads(pickle.dumps(error("made up")))
    assert type(sent) is error
    assert str(sent) == "made up"
