"""Default folders of the command line."""

from datetime import datetime
from pathlib import Path

from dragstrip.testbed.cache import cache_folder


def page_cache() -> Path:
    """Return the folder of imported and synthetic pages."""
    return cache_folder("pages")


def new_capsule(study: str) -> Path:
    """Return a new result folder under the current one."""
    return Path("capsules") / f"{study}-{datetime.now():%Y%m%d-%H%M%S}"
