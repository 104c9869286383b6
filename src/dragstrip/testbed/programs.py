"""Where the three Rust programs are: in the wheel, or freshly built in a checkout."""

from pathlib import Path

from dragstrip.testbed.errors import TestbedError


def program(name: str) -> str:
    """Path of `dragstrip-link`, `dragstrip-origin` or `dragstrip-loader`.

    Raises `TestbedError`, which says how to build it.
    """
    package = Path(__file__).parents[1]
    for folder in (package / "_bin", package.parent.parent / "target" / "release"):
        if (folder / name).is_file():
            return str(folder / name)
    raise TestbedError(
        f"{name} is not built: run `make build` in the checkout, or install the wheel"
    )
