"""The errors that dragstrip expects, under one root.

    DragstripError           `dragstrip.cli.main` prints any of them in one line
      InputError             other input fixes it: exit code 2
      TestbedError           the testbed cannot run here: exit code 3
        ProgramEnded         one of its programs ended: the worker opens a new testbed
          GuestEnded         a guest in virtual time ended or hung
      BrowserError           the browser refused a command or ended: the worker opens a new testbed

A worker repeats the visit after `ProgramEnded` and `BrowserError`; the third time in a row it gives
up with a `TestbedError`. A load that fails raises nothing: it is an outcome.

An exception that is raised and caught within one folder is not in this tree, such as `CodingError`
for a body that cannot be decoded. At the folder's boundary it becomes one of these errors. Any
other exception is a bug in dragstrip and shows its traceback.
"""

import contextlib
import json
from collections.abc import Iterator
from importlib.metadata import distribution
from typing import NamedTuple


class DragstripError(Exception):
    """An error that dragstrip expects. Its text is for people."""


class InputError(DragstripError, ValueError):
    """An error that other input fixes. Its text is one sentence that names the file, the place in
    it and what to do."""


@contextlib.contextmanager
def importing(extra: str, what: str) -> Iterator[None]:
    """Open a context for imports that need the extra. Raises `InputError` if the extra is not
    installed, and says that `what` needs it."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise _lacking(extra, what, str(error.name)) from None


def absent_package(package: str, what: str) -> InputError:
    """Make the error for a missing package of this project. It says that `what` comes with the
    package, a module such as ``dragstrip_papers``, and how to install it."""
    origin = _Origin.read()
    name = package.replace("_", "-")
    if origin.folder:
        url = f"{origin.url}/packages/{package.removeprefix('dragstrip_')}"
    else:
        beside = origin.url.rpartition("/")[0]
        url = f"{beside}/{package}-{origin.version}-py3-none-any.whl"
    return InputError(f"{what} comes with {name}: {origin.command(f'{name} @ {url}')}")


def _lacking(extra: str, what: str, module: str) -> InputError:
    origin = _Origin.read()
    command = origin.command(f"dragstrip[{extra}] @ {origin.url}")
    return InputError(f"{what} needs {module}, of the extra {extra!r}: {command}")


class _Origin(NamedTuple):
    """The file or folder from which dragstrip was installed. Missing packages come from there too,
    never from an index, because someone else may own their names there."""

    url: str
    folder: bool
    editable: bool
    version: str

    @classmethod
    def read(cls) -> "_Origin":
        installed = distribution("dragstrip")
        origin = json.loads(installed.read_text("direct_url.json") or "{}")
        return cls(
            url=origin.get("url", "file:///PATH/OF/THE/WHEEL"),
            folder="dir_info" in origin,
            editable=origin.get("dir_info", {}).get("editable", False),
            version=installed.version,
        )

    def command(self, requirement: str) -> str:
        """Return the command that installs `requirement`."""
        if self.editable:
            return f"`make build` in {self.url.removeprefix('file://')}"
        return f"pip install '{requirement}'"
