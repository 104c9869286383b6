"""What another package of this project adds to the command line, by entry points.

dragstrip runs without such a package, and says how to get it. It never imports it by name.
"""

from importlib.util import find_spec
from typing import Any

COMMANDS = "dragstrip.commands"
"""The group of functions that are commands."""
LISTS = "dragstrip.lists"
"""The group of functions that add the rows of `dragstrip list NAME` to a table."""
PAPERS = "dragstrip_papers"


def present(package: str) -> bool:
    """Whether it is installed. To ask for its entry points would take 30 ms."""
    return find_spec(package) is not None


def load(group: str, name: str, package: str, what: str) -> Any:
    """The object. Raises `InputError` if its package is not installed, and says that `what` comes
    with it."""
    from importlib.metadata import entry_points  # takes a moment, as the next

    from dragstrip.model.errors import absent_package

    if present(package):
        for entry in entry_points(group=group, name=name):
            return entry.load()
    raise absent_package(package, what)
