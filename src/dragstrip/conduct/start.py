"""Describes a start of the program for the manifest, and decides which attempts it may complete."""

import sys
from collections.abc import Callable

from msgspec import structs

from dragstrip.execution.inventory import browsers_of, guest_of, servers_of
from dragstrip.model.study import Study
from dragstrip.model.visit import Visit
from dragstrip.results.frames_cost import known
from dragstrip.results.manifest import Start


def start_of(study: Study, frozen: str, *, on_cluster: bool) -> Start:
    """Describe this start of the program, with the versions of browsers and servers on this
    machine. On a cluster the versions are recorded when a machine is admitted. Raises
    `TestbedError` if a browser or the guests' kernel is missing."""
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
    """Return a function that says whether this machine may complete the attempt of a given visit.

    `machine` None stands for any machine of a cluster. Visits of older capsules name no machine. In
    virtual time every machine may, because all give the same results.
    """
    if study.clock.virtual:
        return lambda visit: True
    return lambda visit: machine is not None and visit.machine in ("", machine)
