"""`dragstrip setup` names what it would install and installs nothing unasked."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dragstrip.cli import app, exits
from dragstrip.cli.machine import setup as command
from dragstrip.model.errors import InputError
from dragstrip.testbed import packages
from dragstrip.testbed.errors import TestbedError
from dragstrip.testbed.packages import BASE, SystemPackage

ABSENT = SystemPackage(name="no-such-package", brings="no-such-program", use="this test")
SCRIPT = Path(__file__).parents[3] / "scripts" / "setup"


@pytest.fixture
def lacking(monkeypatch):
    """A machine that lacks one package; returns the apt calls that were made."""
    called = []
    monkeypatch.setitem(command.GROUPS, "races", (ABSENT,))
    monkeypatch.setattr(packages, "_run", called.append)
    return called


def test_without_a_terminal_it_asks_for_yes_and_installs_nothing(lacking):
    found = CliRunner().invoke(app, ["setup"])
    assert isinstance(found.exception, InputError)
    assert "--yes" in str(found.exception)
    assert "no-such-package: this test" in found.stderr
    assert lacking == []


def test_what_the_archive_lacks_is_named(lacking):
    found = CliRunner().invoke(app, ["setup", "--yes"], standalone_mode=False)
    assert found.return_value == exits.NO_TESTBED
    assert "no-such-package is not available here (for this test)" in found.stderr
    assert [call[-3:-1] for call in lacking] == [["apt-get", "update"]]


def test_a_machine_with_everything_is_left_alone(lacking, monkeypatch):
    present = SystemPackage(name="dash", brings="sh", use="this test")
    monkeypatch.setitem(command.GROUPS, "races", (present,))
    found = CliRunner().invoke(app, ["setup", "--yes"], standalone_mode=False)
    assert found.return_value == exits.DONE
    assert lacking == []


def test_without_apt_the_packages_are_named(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda _name: None)
    with pytest.raises(TestbedError, match="no-such-package"):
        packages.install_command([ABSENT])


def test_the_checkout_installs_the_same_packages():
    needed = dict(re.findall(r"^ +need (\S+) (\S+)$", SCRIPT.read_text(), re.MULTILINE))
    for package in BASE:
        if package.name != "caddy":
            assert needed[package.brings] == package.name
