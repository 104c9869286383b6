"""Finds commands and lists that another package of this project adds by entry points.

dragstrip runs without such a package, and says how to get it. The package is never imported by its
name.
"""

from importlib.util import find_spec
from typing import Any

COMMANDS = "dragstrip.commands"
"""Entry point group of functions that are commands."""
LISTS = "dragstrip.lists"
"""Entry point group of functions that add the rows of `dragstrip list NAME` to a table."""
PAPERS = "dragstrip_papers"


def present(package: str) -> bool:
    """Return whether the package is installed. Looking up its entry points would take 30 ms."""
    return find_spec(package) is not None


def load(group: str, name: str, package: str, what: str) -> Any:
    """Return the object behind an entry point. If its package is not installed, raises
    `InputError`, which says that the package brings `what`."""
    from importlib.metadata import entry_points  # takes a moment to import

    from dragstrip.model.errors import absent_package

    if present(package):
        for entry in entry_points(group=group, name=name):
            return entry.load()
    raise absent_package(package, what)
