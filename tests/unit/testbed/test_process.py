"""A program of the testbed that ends by itself reports why, and whether a new testbed may work."""

from pathlib import Path

import pytest

from dragstrip.testbed.errors import ProgramEnded, TestbedError
from dragstrip.testbed.process import json_process

_WHY = "echo 'dragstrip-link: a bug of dragstrip at line.rs:1:2: made up' >&2"


def ended(script: str, folder: Path) -> TestbedError:
    errors = folder / "errors"
    with (
        pytest.raises(TestbedError) as raised,
        json_process("dragstrip-link", ["sh", "-c", script], errors) as process,
    ):
        process.ask("stats", dict)
    return raised.value


def test_a_program_that_ends_while_it_runs_may_be_started_again(tmp_path: Path) -> None:
    error = ended("echo '{\"ok\": true}'; read line; " + _WHY, tmp_path)
    assert isinstance(error, ProgramEnded)
    assert str(error).startswith("dragstrip-link ended while dragstrip waited for its answer: ")
    assert str(error).endswith("a bug of dragstrip at line.rs:1:2: made up")


def test_a_program_that_does_not_start_is_not_tried_again(tmp_path: Path) -> None:
    error = ended(_WHY, tmp_path)
    assert not isinstance(error, ProgramEnded)
    assert "made up" in str(error)
