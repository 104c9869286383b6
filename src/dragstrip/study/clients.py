"""Chooses the client that makes a study's visits: the browser that each stack names, or the load
generator."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

from msgspec import structs

from dragstrip.model.browsers import LOADER, TODAY
from dragstrip.model.errors import InputError
from dragstrip.model.stack import ConnectionMode, Stack
from dragstrip.model.study import Study

if TYPE_CHECKING:
    from dragstrip.study.spec import StudySpec

AnyStudy = TypeVar("AnyStudy", Study, "StudySpec")
"""A study, or its specification before its pages are made."""
CLIENTS = ("browser", LOADER)
NO_FALSE_START = (
    "by the load generator with TLS 1.3, whose handshake takes as many round trips: it has no "
    "False Start"
)
"""Note on a stack with TLS 1.2. TLS 1.2 without False Start would take one round trip more than in
Chromium on a first visit."""


def loaded_by(stacks: Sequence[Stack], client: str, where: str = "--client") -> tuple[Stack, ...]:
    """Return the stacks with this client; ``browser`` leaves them unchanged. Raises `InputError`,
    whose text begins with `where`."""
    if client not in CLIENTS:
        raise InputError(f"{where} {client!r} is unknown; choose from {', '.join(CLIENTS)}")
    if client == LOADER:
        return tuple(_by_loader(stack, where) for stack in stacks)
    return tuple(stacks)


def study_by(study: AnyStudy, client: str) -> AnyStudy:
    """Return the study with this client. Raises `InputError`."""
    study = structs.replace(study, stacks=loaded_by(study.stacks, client))
    if isinstance(study, Study):
        study = structs.replace(study, controls=loaded_by(study.controls, client))
    return study


def check_clock(study: Study) -> None:
    """Raise `InputError` if a stack's browser does not run in the study's time."""
    for stack in study.visited if study.clock.virtual else ():
        if not stack.loaded_by.in_guests:
            raise InputError(
                f"stack {stack.name!r}: {stack.loaded_by.what}, does not run in virtual time; race "
                "in real time"
            )


def check_clients(stacks: Sequence[Stack]) -> None:
    """Raise `InputError` if a browser and the load generator share a study, or if the load
    generator does not support a stack's handshake."""
    for stack in stacks:
        if stack.loaded_by.follows_graphs and stack.tls == "1.2":
            raise InputError(
                f"stack {stack.name!r}: the load generator has no False Start, so with tls 1.2 it "
                'would load later than a browser; give tls = "1.3", or omit browser and use '
                "--client loader, which does that"
            )
    if len({s.loaded_by.follows_graphs for s in stacks}) > 1:
        ours = next(s.name for s in stacks if s.loaded_by.follows_graphs)
        other = next(s.name for s in stacks if not s.loaded_by.follows_graphs)
        raise InputError(
            f"stack {ours!r} is visited by the load generator and {other!r} by a browser: what the "
            "load generator measures is a prediction and is never mixed with browsers' visits; "
            "make two studies, or load all of these stacks with --client loader"
        )


def check_cache(stacks: Sequence[Stack], connections: Sequence[ConnectionMode]) -> None:
    """Raise `InputError` for visits with a kept cache in a client that has no cache."""
    if "repeat-cached" in connections:
        for stack in stacks:
            if stack.loaded_by.follows_graphs:
                raise InputError(
                    f"stack {stack.name!r}: the load generator has no cache; ask for repeat visits "
                    "instead of repeat-cached ones"
                )


def _by_loader(stack: Stack, where: str) -> Stack:
    if stack.browser not in (TODAY, LOADER):
        raise InputError(
            f"{where} loader: stack {stack.name!r} names browser {stack.browser}, which the load "
            "generator does not predict; race another stack"
        )
    played = {"tls": "1.3", "source": f"{stack.source}; {NO_FALSE_START}"}
    try:
        return structs.replace(stack, browser=LOADER, **(played if stack.tls == "1.2" else {}))
    except ValueError as error:
        raise InputError(f"{where} loader: stack {stack.name!r}: {error}") from None
