"""What guests run, compiled once outside of them.

A guest cannot keep what it compiles, and compiling takes most of its start. Nor may it matter
whether another command compiled a module before: that would change the course of a guest.
"""

import contextlib
import hashlib
import os
import shutil
import site
import subprocess
import sys
from functools import cache
from pathlib import Path

from dragstrip.testbed.cache import cache_folder, unfinished

_MODULES = ("dragstrip.virtual.inside", "dragstrip.visit.check")
_KEPT = 4
"""Folders of other versions that stay: guests of a running command may use them."""


def bytecode(path: str) -> Path:
    """A folder for PYTHONPYCACHEPREFIX with what guests import, if `path` is their PYTHONPATH. Made
    if it is not there; where it cannot be, guests compile."""
    root = cache_folder("bytecode").absolute()
    name = _digest(path)
    with contextlib.suppress(OSError):
        if not (root / name).exists():
            _make(root, name, path)
    return root / name


def _make(root: Path, name: str, path: str) -> None:
    with unfinished(root) as scratch:
        if (root / name).exists():  # made while this waited for the lock
            return
        told = {"PYTHONPATH": path, "PYTHONPYCACHEPREFIX": str(scratch / name)}
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        argv = [sys.executable, "-c", f"import {', '.join(_MODULES)}"]
        subprocess.run(argv, env=environment | told, capture_output=True)
        (scratch / name).mkdir(exist_ok=True)
        (scratch / name).rename(root / name)
        others = sorted(root.glob("[0-9a-f]*/"), key=lambda p: p.stat().st_mtime, reverse=True)
        for old in others[1 + _KEPT :]:
            shutil.rmtree(old, ignore_errors=True)


@cache  # each guest of a run asks
def _digest(path: str) -> str:
    """Of everything that makes compiled code another: 16 hexadecimal digits."""
    package = Path(__file__).parents[1]
    seen = hashlib.sha256(f"{sys.version}|{sys.executable}|{path}".encode())
    for file in (*sorted(package.rglob("*.py")), *map(Path, site.getsitepackages())):
        with contextlib.suppress(OSError):
            found = file.stat()
            seen.update(f"{file}|{found.st_mtime_ns}|{found.st_size}".encode())
    return seen.hexdigest()[:16]
