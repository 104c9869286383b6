"""What another package of this project adds to the command line, by entry points.

dragstrip runs without such a package, and says how to get it. It imports it here only, by name.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

COMMANDS = "dragstrip.commands"
"""The group of functions that are commands."""
LISTS = "dragstrip.lists"
"""The group of functions that add the rows of `dragstrip list NAME` to a table."""
PAPERS = "dragstrip-papers"


def find(group: str, name: str) -> "EntryPoint | None":
    from importlib.metadata import entry_points  # takes a moment

    return next(iter(entry_points(group=group, name=name)), None)


def load(group: str, name: str, package: str, what: str) -> Any:
    """The object. Raises `InputError` if its package is not installed, and says that `what` comes
    with it."""
    from dragstrip.model.errors import absent_package

    entry = find(group, name)
    if entry is None:
        raise absent_package(package, what)
    return entry.load()
