"""The cluster that a study is to run on, as it is asked for."""

from msgspec import Struct

from dragstrip.conduct.clocks import jobs_of
from dragstrip.model.clock import Clock
from dragstrip.model.errors import InputError


class Cluster(Struct, frozen=True, kw_only=True):
    """Machines that a Dask scheduler knows."""

    address: str
    """``tcp://...``, ``local:3``, or a name in Dask's configuration."""
    jobs: int | None = None
    """Blocks at once on each machine; None lets each decide."""
    admit_others: bool = False
    """Whether machines that are not like the others may make visits too."""


def cluster_of(
    address: str | None, jobs: str | None, clock: Clock, *, admit_others: bool = False
) -> Cluster | None:
    """None if none is asked for. Raises `InputError`."""
    if address is None:
        if admit_others:
            raise InputError("--admit-other-machines is for --cluster: give both, or neither")
        return None
    fixed = jobs_of(clock, jobs) if jobs not in (None, "auto") else None
    return Cluster(address=address, jobs=fixed, admit_others=admit_others)
