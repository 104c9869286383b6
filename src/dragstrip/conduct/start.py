"""A start of the program, as the manifest records it, and which attempts it may complete."""

import sys
from collections.abc import Callable

from msgspec import structs

from dragstrip.execution.inventory import browsers_of, guest_of, servers_of
from dragstrip.model.study import Study
from dragstrip.model.visit import Visit
from dragstrip.results.frames_cost import known
from dragstrip.results.manifest import Start


def start_of(study: Study, frozen: str, *, on_cluster: bool) -> Start:
    """This start of the program. What its visits are made with is known of this machine; of a
    cluster's, when they are admitted. Raises `TestbedError` if a browser or the guests' kernel is
    missing."""
    if on_cluster:
        start = Start.here(browser_version="", command=tuple(sys.argv))
        return structs.replace(start, frozen=frozen)
    browsers = dict.fromkeys(browsers_of(study).values())
    start = structs.replace(
        Start.here(browser_version=", ".join(browsers), command=tuple(sys.argv)),
        server_versions=servers_of(study),
        frozen=frozen,
        guest=guest_of(study),
    )
    return structs.replace(start, frames_cost=known(start) if study.client.frames else None)


def continues(study: Study, machine: str | None) -> Callable[[Visit], bool]:
    """Whether this machine may complete a started attempt; None stands for any machine of a
    cluster. Older capsules name no machine, and in virtual time all machines give the same."""
    if study.clock.virtual:
        return lambda visit: True
    return lambda visit: machine is not None and visit.machine in ("", machine)
