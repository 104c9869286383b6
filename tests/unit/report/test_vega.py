"""The script that draws figures is the one that our vl-convert brings."""

import gzip
import re
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

from dragstrip.report import vega

ROOT = Path(__file__).parents[3]


def locked() -> str:
    """The version of vl-convert in uv.lock."""
    packages = tomllib.loads((ROOT / "uv.lock").read_text())["package"]
    (found,) = (p["version"] for p in packages if p["name"] == "vl-convert-python")
    return found


def test_it_comes_out_of_the_locked_version():
    (told,) = re.findall(r"vl-convert-python ([\w.]+)", vega.script().splitlines()[0])
    assert told == locked(), "run: scripts/uv run python scripts/vega.py"


@pytest.mark.skipif(version("vl-convert-python") != locked(), reason="another vl-convert is here")
def test_a_script_makes_it(tmp_path):
    subprocess.run([sys.executable, ROOT / "scripts/vega.py", tmp_path], check=True)
    made = gzip.decompress((tmp_path / "vega.js.gz").read_bytes())
    assert made.decode() == vega.script()


def test_the_licences_name_what_the_script_names():
    told = vega.LICENCES.read_text()
    for name in re.findall(r"(vega[-\w]* [\d.]+)", vega.script().splitlines()[0]):
        assert name in told
