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
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from dragstrip.testbed.cache import cache_folder, unfinished

_PACKAGE = Path(__file__).parents[2]
_MODULES = ("dragstrip.execution.guest.inside", "dragstrip.verdict.page_check")
SEEN_AT = "/mnt/home"
"""The folder that has this package in a guest, wherever it is installed."""
_KEPT = 4
"""Folders of other versions that stay."""
_IN_USE_S = 3600
"""A folder that a guest was started with so recently stays as well: its command may still run."""


def bytecode(needed: Sequence[str]) -> Path:
    """A folder for PYTHONPYCACHEPREFIX with what guests import, if `needed` is their PYTHONPATH
    beside this package. Made if it is not there; where it cannot be, guests compile."""
    root = cache_folder("bytecode").absolute()
    path = ":".join([str(_PACKAGE.parent), *needed])
    name = _digest(path)
    with contextlib.suppress(OSError):
        if not (root / name).exists():
            _make(root, name, path)
        os.utime(root / name)
    return root / name


def _make(root: Path, name: str, path: str) -> None:
    with unfinished(root) as scratch:
        if (root / name).exists():  # made while this waited for the lock
            return
        told = {"PYTHONPATH": path, "PYTHONPYCACHEPREFIX": str(scratch / name)}
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        argv = [sys.executable, "-c", f"import {', '.join(_MODULES)}"]
        subprocess.run(argv, env=environment | told, capture_output=True)
        seen = scratch / name / SEEN_AT[1:]
        seen.mkdir(parents=True, exist_ok=True)
        (seen / _PACKAGE.name).symlink_to(os.path.relpath(_below(scratch / name), seen))
        (scratch / name).rename(root / name)
        others = sorted(root.glob("[0-9a-f]*/"), key=lambda p: p.stat().st_mtime, reverse=True)
        for old in others[1 + _KEPT :]:
            if time.time() - old.stat().st_mtime > _IN_USE_S:
                shutil.rmtree(old, ignore_errors=True)


def _below(prefix: Path) -> Path:
    """Where Python keeps what it compiled of this package."""
    return prefix / str(_PACKAGE).lstrip("/")


@cache  # each guest of a run asks
def _digest(path: str) -> str:
    """A digest of everything that changes compiled code: 16 hexadecimal digits."""
    seen = hashlib.sha256(f"{sys.version}|{sys.executable}|{SEEN_AT}|{path}".encode())
    for file in (*sorted(_PACKAGE.rglob("*.py")), *map(Path, site.getsitepackages())):
        with contextlib.suppress(OSError):
            found = file.stat()
            seen.update(f"{file}|{found.st_mtime_ns}|{found.st_size}".encode())
    return seen.hexdigest()[:16]
