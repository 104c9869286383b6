"""Errors that other input fixes; the command line exits with code 2."""

import contextlib
import json
from collections.abc import Iterator
from importlib.metadata import distribution
from importlib.util import find_spec


class InputError(ValueError):
    """One sentence that names the file, the place in it and what to do."""


@contextlib.contextmanager
def importing(extra: str, what: str) -> Iterator[None]:
    """Around imports that need the extra: raises `InputError` if it is not installed, and says that
    `what` needs it."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise _lacking(extra, what, str(error.name)) from None


def require(extra: str, what: str, *modules: str) -> None:
    """As `importing`, without importing them, which may take a second."""
    for module in modules:
        if find_spec(module) is None:
            raise _lacking(extra, what, module)


def _lacking(extra: str, what: str, module: str) -> InputError:
    """How to add the extra, out of the file or folder that dragstrip was installed from. Never from
    an index, where the name may be someone else's."""
    origin = json.loads(distribution("dragstrip").read_text("direct_url.json") or "{}")
    url = origin.get("url", "file:///PATH/OF/THE/WHEEL")
    command = f"pip install 'dragstrip[{extra}] @ {url}'"
    if origin.get("dir_info", {}).get("editable"):
        command = f"`make build` in {url.removeprefix('file://')}"
    return InputError(f"{what} needs {module}, of the extra {extra!r}: {command}")
