"""Writes the message of an interrupted command, with the command line that resumes it."""

import shlex
import sys
from pathlib import Path

_capsule: list[Path] = []


def remember(out: Path) -> None:
    """Record the folder `out` into which the command writes visits."""
    _capsule[:] = [out]


def message() -> str:
    """Return the message of an interrupted command, which says how to resume it."""
    if not _capsule:
        return "interrupted"
    words = sys.argv[1:]
    if not any(word == "--out" or word.startswith("--out=") for word in words):
        words = [*words, "--out", str(_capsule[0])]
    return f"interrupted; to resume: {shlex.join(['dragstrip', *words])}"
