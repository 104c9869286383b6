"""Finds the Rust programs: in the wheel, or freshly built in a checkout."""

import os
from pathlib import Path

from dragstrip.testbed.errors import TestbedError

PROGRAMS = "DRAGSTRIP_PROGRAMS"
"""Environment variable with the folder of the programs. Guests set it, because they always have the
same folder."""


def program(name: str) -> str:
    """Return the path of a program, such as `dragstrip-link`.

    Raises `TestbedError`, which says how to build the program.
    """
    package = Path(__file__).parents[1]
    told = [Path(named)] if (named := os.environ.get(PROGRAMS)) else []
    for folder in (*told, package / "_bin", package.parent.parent / "target" / "release"):
        if (folder / name).is_file():
            return str(folder / name)
    raise TestbedError(
        f"{name} is not built: run `make build` in the checkout, or install the wheel"
    )
