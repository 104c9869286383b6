"""Folders the command line uses when none is given."""

import os
from datetime import datetime
from pathlib import Path


def page_cache() -> Path:
    """Where imported and synthesised pages are kept."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "dragstrip" / "pages"


def new_capsule(study: str) -> Path:
    """A fresh result folder below the current one."""
    return Path("capsules") / f"{study}-{datetime.now():%Y%m%d-%H%M%S}"
