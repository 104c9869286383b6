"""Errors that other input fixes; the command line exits with code 2."""

import contextlib
from collections.abc import Iterator


class InputError(ValueError):
    """One sentence that names the file, the place in it and what to do."""


@contextlib.contextmanager
def importing(extra: str, what: str) -> Iterator[None]:
    """Around imports that need the extra: raises `InputError` if it is not installed, and says that
    `what` needs it."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise InputError(f"{what} needs {error.name}: pip install 'dragstrip[{extra}]'") from None
