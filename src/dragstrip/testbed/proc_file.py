"""Reads small files of /proc and /sys by three system calls: Python's own way takes eight, and in a
guest each one costs its host 15 us."""

import os

_MOST = 1 << 15
"""Bytes that are read: more than any file holds that is read this way."""


def read_proc(file: str) -> str:
    """Return the content of a file of /proc or /sys. Raises `OSError`, such as `ProcessLookupError`
    when the process has ended."""
    opened = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(opened, _MOST).decode()
    finally:
        os.close(opened)
