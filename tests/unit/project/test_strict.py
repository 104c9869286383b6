"""Strict mode turns a planted skip into a failure, and leaves an allowed one alone."""

import os
import re
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


REASON = "tshark is not installed"
ALLOWED = "HTTP/1.1 has no streams"


@pytest.fixture(scope="module", params=["1", ""], ids=["strict", "lenient"])
def told(request, tmp_path_factory) -> tuple[str, str]:
    """The result of each planted test, one line per test, with the mode."""
    folder = tmp_path_factory.mktemp("planted")
    for kind, code in PLANTED.items():
        (folder / f"test_{kind}.py").write_text(code.format(reason=REASON))
    (folder / "test_allowed.py").write_text(PLANTED["call"].format(reason=ALLOWED))
    (folder / "pytest.ini").write_text("[pytest]\n")
    argv = [sys.executable, "-m", "pytest", "-q", "-rA", "--continue-on-collection-errors"]
    argv += ["-p", "strict", "-p", "no:cacheprovider", "."]
    env = {**os.environ, "DRAGSTRIP_STRICT": request.param, "PYTHONPATH": str(TESTS)}
    done = subprocess.run(argv, cwd=folder, env=env, capture_output=True, text=True)
    assert done.returncode == (1 if request.param else 0)
    return request.param, done.stdout


@pytest.mark.parametrize("kind", PLANTED)
def test_a_planted_skip_fails_in_strict_mode_only(told, kind):
    strict, said = told
    [line] = re.findall(rf"^(?:FAILED|ERROR|SKIPPED).* test_{kind}\.py.*$", said, re.MULTILINE)
    assert REASON in line
    assert line.startswith("SKIPPED") == (not strict)
    assert ("skipped in strict mode: " in line) == bool(strict)


def test_an_allowed_skip_stays_one(told):
    assert re.search(rf"^SKIPPED.* test_allowed\.py.*{ALLOWED}", told[1], re.MULTILINE)
