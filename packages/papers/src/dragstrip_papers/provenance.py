"""Describes how a capsule was made, so that a number can be reproduced: command, program,
machine."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from dragstrip.results.manifest import Start


def command(argv: Sequence[str]) -> str:
    """Return the command as other people would type it, without this machine's folders."""
    ours = (Path(a).name if a.startswith(("/", "..", "docs/")) else a for a in argv[1:])
    return " ".join(["dragstrip", *ours])


def commands(starts: Iterable[Start]) -> tuple[str, ...]:
    """Return the commands that made a capsule, each once."""
    return tuple(dict.fromkeys(command(start.command) for start in starts))


def made_by(starts: Iterable[Start]) -> tuple[str, ...]:
    """Describe program, machine and browsers of all starts, each once."""
    return tuple(dict.fromkeys(_sentence(start) for start in starts))


def _sentence(start: Start) -> str:
    machine = start.machine
    program = f"commit {start.git}" if start.git else f"dragstrip {start.dragstrip_version}"
    memory = f"{machine.memory_mb / 1024:.0f} GiB"
    guest = f", guests {start.guest}" if start.guest else ""
    return (
        f"{program}, rules {start.rules}; Linux {machine.kernel}, {machine.cpu}, "
        f"{machine.cores} cores, {memory}{guest}; {start.browser_version}"
    )
