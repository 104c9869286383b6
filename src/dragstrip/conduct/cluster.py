"""The cluster on which a study runs, as requested."""

from msgspec import Struct

from dragstrip.conduct.clocks import jobs_of
from dragstrip.model.clock import Clock
from dragstrip.model.errors import InputError


class Cluster(Struct, frozen=True, kw_only=True):
    """The machines of a Dask scheduler."""

    address: str
    """``tcp://...``, ``local:3``, or a name in Dask's configuration."""
    jobs: int | None = None
    """Parallel blocks per machine; None lets each machine decide."""
    admit_others: bool = False
    """Whether machines that differ from the others may make visits too."""


def cluster_of(
    address: str | None, jobs: str | None, clock: Clock, *, admit_others: bool = False
) -> Cluster | None:
    """None without a cluster. Raises `InputError`."""
    if address is None:
        if admit_others:
            raise InputError("--admit-other-machines needs --cluster")
        return None
    fixed = jobs_of(clock, jobs) if jobs not in (None, "auto") else None
    return Cluster(address=address, jobs=fixed, admit_others=admit_others)
