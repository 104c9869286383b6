"""Compares two configurations of one server."""

from collections.abc import Iterator
from difflib import SequenceMatcher

from dragstrip.model.servers import Server


def same_program(a: Server, b: Server) -> bool:
    """Return whether the servers differ at most in their program's command, environment and
    configuration."""
    return a.program == b.program


def differing_lines(a: Server, b: Server) -> list[str]:
    """Return the lines of the command, the environment and the configuration that differ: ``- ``
    marks lines that only `a` has, ``+ `` lines that only `b` has."""
    old, new = list(_lines(a)), list(_lines(b))
    lines = []
    for kind, a1, a2, b1, b2 in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            lines += [f"- {line}" for line in old[a1:a2]]
            lines += [f"+ {line}" for line in new[b1:b2]]
    return lines


def _lines(server: Server) -> Iterator[str]:
    yield " ".join(server.command)
    yield from (f"{name}={value}" for name, value in server.environment.items())
    yield from (line.strip() for line in server.config.splitlines() if line.strip())
