"""Strict mode turns a planted skip into a failure, and leaves an allowed one alone."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[2]
PLANTED = {
    "call": "import pytest\ndef test_it():\n    pytest.skip({reason!r})\n",
    "mark": "import pytest\n@pytest.mark.skipif(True, reason={reason!r})\ndef test_it(): pass\n",
    "fixture": "import pytest\n@pytest.fixture\ndef it(): pytest.skip({reason!r})\n"
    "def test_it(it): pass\n",
    "module": "import pytest\npytest.skip({reason!r}, allow_module_level=True)\n",
}


def outcome(folder: Path, kind: str, reason: str, strict: str) -> tuple[int, str]:
    (folder / "test_planted.py").write_text(PLANTED[kind].format(reason=reason))
    (folder / "pytest.ini").write_text("[pytest]\n")
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "strict", "-p", "no:cacheprovider", "."]
    env = {**os.environ, "DRAGSTRIP_STRICT": strict, "PYTHONPATH": str(TESTS)}
    done = subprocess.run(argv, cwd=folder, env=env, capture_output=True, text=True)
    return done.returncode, done.stdout


@pytest.mark.parametrize("kind", PLANTED)
def test_a_planted_skip_fails_in_strict_mode_only(tmp_path, kind):
    code, said = outcome(tmp_path, kind, "tshark is not installed", "1")
    assert code in (1, 2)
    assert "skipped in strict mode: tshark is not installed" in said
    code, said = outcome(tmp_path, kind, "tshark is not installed", "")
    assert code in (0, 5)
    assert "1 skipped" in said


def test_an_allowed_skip_stays_one(tmp_path):
    code, said = outcome(tmp_path, "call", "HTTP/1.1 has no streams", "1")
    assert (code, "1 skipped" in said) == (0, True)
