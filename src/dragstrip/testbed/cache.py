"""The cache folder, for files that were fetched or built."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_UNFINISHED = "unfinished-"


def cache_folder(name: str) -> Path:
    """Return the folder `name` in this user's cache. Deleting it costs only time."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "dragstrip" / name


@contextmanager
def unfinished(root: Path) -> Iterator[Path]:
    """Yield a scratch folder in `root`, from which finished files can be renamed into place.

    Only one installation runs at a time, so leftovers of earlier installations are removed.
    """
    root.mkdir(parents=True, exist_ok=True)
    with (root / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for stale in root.glob(f"{_UNFINISHED}*"):
            shutil.rmtree(stale, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix=_UNFINISHED, dir=root) as folder:
            yield Path(folder)
