"""A scratch folder that never outlives its owner for long.

The owner holds an exclusive lock on the folder's lock file. However the owner dies, the kernel
drops the lock. So a folder whose lock is free is stale, and any process may remove it. A running
owner's folder is never stale. A lock on the root keeps sweeps apart from new folders: otherwise a
sweep could happen between making a folder and locking it.
"""

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path


def scratch_root() -> Path:
    """Return the folder with this user's scratch folders."""
    return Path(tempfile.gettempdir()) / f"dragstrip-{os.geteuid()}"


@contextlib.contextmanager
def workspace() -> Iterator[Path]:
    """Yield a new folder that the unprivileged browser can read. The folder is removed on exit."""
    root = scratch_root()
    root.mkdir(mode=0o711, exist_ok=True)
    with contextlib.ExitStack() as kept:
        with _in_turn(root):
            _sweep(root)
            folder = Path(tempfile.mkdtemp(prefix="testbed-", dir=root))
            lock = kept.enter_context(_lock_file(folder).open("w"))
            fcntl.flock(lock, fcntl.LOCK_EX)
        folder.chmod(0o711)
        try:
            yield folder
        finally:
            _remove(folder)


def sweep() -> list[Path]:
    """Remove the folders whose owners are gone; return their paths."""
    root = scratch_root()
    if not root.is_dir():
        return []
    with _in_turn(root):
        return _sweep(root)


@contextlib.contextmanager
def _in_turn(root: Path) -> Iterator[None]:
    turn = os.open(root, os.O_RDONLY)
    try:
        fcntl.flock(turn, fcntl.LOCK_EX)
        yield
    finally:
        os.close(turn)


def _sweep(root: Path) -> list[Path]:
    removed = []
    for folder in root.glob("testbed-*/"):
        try:
            lock = _lock_file(folder).open("a")
        except FileNotFoundError:
            continue  # the folder's owner is just removing it
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            _remove(folder)
            removed.append(folder)
    return removed


def _lock_file(folder: Path) -> Path:
    return folder.with_name(folder.name + ".lock")


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    _lock_file(folder).unlink(missing_ok=True)
