"""Lets the clients of a paper's QUIC stacks wait longer than today's browser does."""

from collections.abc import Iterable

from msgspec import structs

from dragstrip.model.errors import InputError
from dragstrip.model.stack import TIMEOUTS, Stack, differences
from dragstrip.study.presets import stacks
from dragstrip.study.spec import StudySpec


def patient(specs: Iterable[StudySpec], seconds: int | None) -> list[StudySpec]:
    """Return the studies with QUIC clients that wait this long for a handshake, and on an idle
    connection; unchanged without a number. Raises `InputError` for a number or a client that stacks
    do not allow."""
    try:
        return [
            structs.replace(spec, stacks=tuple(_waiting(s, seconds) for s in spec.stacks))
            for spec in specs
        ]
    except ValueError as error:
        raise InputError(f"--patience {seconds}: {error}") from None


def _waiting(stack: Stack, seconds: int | None) -> Stack:
    if seconds is None or stack.protocol != "h3":
        return stack
    return structs.replace(stack, **dict.fromkeys(TIMEOUTS, seconds))


def changed(made: Iterable[Stack]) -> dict[str, str]:
    """Say of each stack with a preset's name what it has of its own, apart from its browser:
    ``waits 120 s for a handshake``."""
    said = {}
    for stack in (stack for stack in made if stack.name in stacks()):
        preset = structs.replace(stacks()[stack.name], browser=stack.browser)
        if told := differences(preset, stack):
            said[stack.name] = " and ".join(own for _, _, own in told)
    return said
