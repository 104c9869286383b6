"""Finds what this test process has made, on a machine where others race and test as well. Each test
process has its own temporary folder, so testbeds keep their scratch folders there. Everything it
starts inherits TMPDIR or gets a folder below it. So a process with such an environment is ours,
whichever parent it has now."""

import contextlib
import os
import re
import shutil
import tempfile
from pathlib import Path

_KEPT = "PYTEST_DEBUG_TEMPROOT"
"""Where pytest puts `tmp_path`, to be read when all is over."""


def take_folder() -> None:
    """Sends temporary files to a new folder."""
    os.environ.setdefault(_KEPT, tempfile.gettempdir())
    folder = Path(tempfile.mkdtemp(prefix="dt-", dir=os.environ[_KEPT]))
    folder.chmod(0o1777)  # tests become ordinary users
    os.environ["TMPDIR"] = tempfile.tempdir = str(folder)


def remove_folder() -> None:
    shutil.rmtree(tempfile.gettempdir(), ignore_errors=True)


def processes() -> dict[int, list[str]]:
    """Arguments of all processes that we started, directly or indirectly, by process id."""
    ours = re.compile(rb"(^|\0)TMPDIR=%s[/\0]" % re.escape(tempfile.gettempdir().encode()))
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if ours.search((process / "environ").read_bytes()):
                argv = (process / "cmdline").read_bytes().decode(errors="replace")
                found[int(process.name)] = argv.rstrip("\0").split("\0")
        except OSError:
            continue  # it has ended, or it is another user's
    return found


def left() -> set[str]:
    """Scratch folders of testbeds, and network namespaces of our processes but for our own. The
    interfaces of a testbed are in its namespaces, and vanish with them."""
    found = {str(folder) for folder in Path(tempfile.gettempdir()).glob("dragstrip-*/testbed-*/")}
    for pid in processes():
        with contextlib.suppress(OSError):  # it has ended
            found.add(os.readlink(f"/proc/{pid}/ns/net"))
    return found - {os.readlink("/proc/self/ns/net")}
