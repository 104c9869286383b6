"""Compiles the Python code of guests once, outside of them.

A guest cannot keep compiled code, and compiling would take most of its start. Its virtual time
would also depend on whether an earlier command had compiled a module.
"""

import contextlib
import hashlib
import os
import shutil
import site
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

from dragstrip.testbed.cache import cache_folder, unfinished

_PACKAGE = Path(__file__).parents[2]
_MODULES = ("dragstrip.execution.guest.inside", "dragstrip.verdict.page_check")
SEEN_AT = "/mnt/home"
"""The path under which guests see the folder above this package, wherever it is installed."""
_KEPT = 4
"""Number of folders of other versions that are kept."""
_IN_USE_S = 3600
"""Seconds after a guest's start during which its folder is kept as well, because the command may
still run."""


def bytecode(packages: Path) -> Path:
    """Return a folder for PYTHONPYCACHEPREFIX with the compiled modules that guests import.

    `packages` is the folder of the packages that dragstrip needs. The folder is made if it does not
    exist. If it cannot be made, guests compile the modules themselves.
    """
    root = cache_folder("bytecode").absolute()
    path = f"{_PACKAGE.parent}:{packages}"
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
        variables = {"PYTHONPATH": path, "PYTHONPYCACHEPREFIX": str(scratch / name)}
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        argv = [sys.executable, "-c", f"import {', '.join(_MODULES)}"]
        subprocess.run(argv, env=environment | variables, capture_output=True)
        seen = scratch / name / SEEN_AT[1:]
        seen.mkdir(parents=True, exist_ok=True)
        (seen / _PACKAGE.name).symlink_to(os.path.relpath(_below(scratch / name), seen))
        (scratch / name).rename(root / name)
        others = sorted(root.glob("[0-9a-f]*/"), key=lambda p: p.stat().st_mtime, reverse=True)
        for old in others[1 + _KEPT :]:
            if time.time() - old.stat().st_mtime > _IN_USE_S:
                shutil.rmtree(old, ignore_errors=True)


def _below(prefix: Path) -> Path:
    """Return the folder below `prefix` in which Python keeps this package's compiled code."""
    return prefix / str(_PACKAGE).lstrip("/")


@cache  # each guest of a run needs the digest
def _digest(path: str) -> str:
    """Return a digest of everything that changes compiled code: 16 hexadecimal digits."""
    seen = hashlib.sha256(f"{sys.version}|{sys.executable}|{SEEN_AT}|{path}".encode())
    for file in (*sorted(_PACKAGE.rglob("*.py")), *map(Path, site.getsitepackages())):
        with contextlib.suppress(OSError):
            status = file.stat()
            seen.update(f"{file}|{status.st_mtime_ns}|{status.st_size}".encode())
    return seen.hexdigest()[:16]
