"""Options for running a study, whatever it races."""

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct, structs

from dragstrip.conduct.restarts import spread
from dragstrip.conduct.shard import WHOLE, Shard, parse_shard
from dragstrip.execution.concurrency import most_jobs, parse_jobs
from dragstrip.model.browsers import LOADER
from dragstrip.model.clock import NETWORK, PRICED, REAL, Clock
from dragstrip.model.errors import InputError
from dragstrip.model.study import Block, Study
from dragstrip.study.clients import AnyStudy, check_clock, study_by
from dragstrip.study.devices import check_device, find_slowdown


class RunOptions(Struct, frozen=True, kw_only=True):
    """Options for running a study, from the command line or Python. This class alone declares them;
    `dragstrip.cli.run_options` describes them on the command line.

    >>> make_visits(study, out, RunOptions(virtual=True, jobs=2))
    """

    out: Path | None = None
    """Result folder; None lets the command choose one."""
    calibrate: bool | None = None
    """Whether to calibrate the link, see `dragstrip.conduct.calibration.before_visits`."""
    virtual: bool = False
    """Whether visits run in virtual time."""
    computing: bool | None = None
    """Whether computing takes time in virtual time; True and False both turn virtual time on. With
    None, computing takes time for browsers, and the load generator predicts the network's share
    alone."""
    client: str | None = None
    """``browser`` or ``loader``; None leaves the study's own."""
    device: str | None = None
    """The client's device, see `dragstrip.study.devices.find_slowdown`; None leaves the study's
    own."""
    jobs: int | str | None = None
    """Blocks that run in parallel, or ``auto``; on a cluster, blocks per machine. None means one
    block, or in virtual time one per core."""
    restarts: int | None = None
    """Number of testbed starts over which the runs are spread; None keeps the study's own."""
    shard: str | None = None
    """Share of the study, such as ``3/16``; None is all of it."""
    cluster: str | None = None
    """Cluster as ``tcp://...``, ``local:3``, or a name in Dask's configuration; None is this
    machine."""
    admit_other_machines: bool = False
    """Whether the cluster may include machines that differ from the others."""
    watch: bool = False
    """Whether to show a live page of the visits."""

    @property
    def clock(self) -> Clock:
        """The clock that these options choose."""
        return self._clock(predicted=self.client == LOADER)

    def _clock(self, *, predicted: bool) -> Clock:
        if self.computing is None:
            return REAL if not self.virtual else NETWORK if predicted else PRICED
        return PRICED if self.computing else NETWORK

    @property
    def slowdown(self) -> float:
        """How many times slower the client is. Raises `InputError`."""
        return find_slowdown(self.device) if self.device else 1.0

    def adapt(self, study: AnyStudy) -> AnyStudy:
        """Return the study, or its specification, with the client, restarts and clock that these
        options choose. Raises `InputError`."""
        if self.client:
            study = study_by(study, self.client)
        if self.device:
            slower = structs.replace(study.client, cpu_slowdown=self.slowdown)
            study = structs.replace(study, client=slower)
        study = spread(study, self.restarts)
        if self.computing is None and (not self.virtual or study.clock.virtual):
            return study
        predicted = any(stack.loaded_by.follows_graphs for stack in study.stacks)
        return structs.replace(study, clock=self._clock(predicted=predicted))

    def check(self, study: Study) -> None:
        """Raise `InputError` if the study does not allow these options."""
        self.check_place(study.clock)
        check_device(study)
        check_clock(study)

    def check_place(self, clock: Clock) -> None:
        """Raise `InputError` if the options that say where visits run do not fit together, or
        contradict the clock."""
        self.jobs_here(clock)
        self._part()
        if self.admit_other_machines and self.cluster is None:
            raise InputError("--admit-other-machines needs --cluster")

    def jobs_here(self, clock: Clock) -> int:
        """Return blocks that run in parallel on this machine. Raises `InputError`."""
        if self.jobs is None:
            return most_jobs(clock) if clock.virtual else 1
        return parse_jobs(str(self.jobs), most_jobs(clock))

    def jobs_per_machine(self, clock: Clock) -> int | None:
        """Return blocks that run in parallel on each machine of the cluster; None lets each machine
        decide. Raises `InputError`."""
        return None if self.jobs in (None, "auto") else self.jobs_here(clock)

    def belongs(self, study: Study) -> Callable[[Block], bool]:
        """Return a function that says whether a block of the study belongs to the shard. Raises
        `InputError`."""
        return self._part().blocks(study)

    def _part(self) -> Shard:
        return parse_shard(self.shard) if self.shard else WHOLE


ONE_BY_ONE = RunOptions(jobs=1)
"""Options for one block after another on this machine."""
