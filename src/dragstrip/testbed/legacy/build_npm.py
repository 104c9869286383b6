"""Builds our JavaScript program with the packages in its package-lock.json.

`npm ci` checks every package against the lock file and takes no other version.
"""

import shutil
from pathlib import Path

from dragstrip.testbed.legacy.catalogue import Item
from dragstrip.testbed.legacy.fetch import Progress, run


def build_npm(item: Item, scratch: Path, target: Path, progress: Progress) -> None:
    """Build `item` in `target`. Raises `TestbedError` with the last lines of npm's output."""
    shutil.copytree(item.sources, target, ignore=shutil.ignore_patterns("node_modules"))
    run(
        ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"],
        cwd=target,
        environment={"npm_config_cache": str(scratch / "npm")},
        watch=scratch,
        progress=progress,
    )
