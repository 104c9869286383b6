"""How a study runs. What is raced is the study."""

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct, structs

from dragstrip.conduct.restarts import spread
from dragstrip.conduct.shard import WHOLE, Shard, parse_shard
from dragstrip.execution.concurrency import most_jobs, parse_jobs
from dragstrip.model.clock import NETWORK, PRICED, REAL, Clock
from dragstrip.model.errors import InputError
from dragstrip.model.study import Block, Study
from dragstrip.study.clients import study_by


class RunOptions(Struct, frozen=True, kw_only=True):
    """How a study runs, as the command line or Python asks. Each option is declared here alone; its
    words on the command line stand in `dragstrip.cli.run_options`.

    >>> make_visits(study, out, RunOptions(virtual=True, jobs=2))
    """

    out: Path | None = None
    """Result folder that was asked for; None lets the command choose one."""
    calibrate: bool | None = None
    """See `dragstrip.conduct.calibration.before_visits`."""
    virtual: bool = False
    """Whether visits run in virtual time."""
    computing: bool | None = None
    """Whether computing takes time there, which asks for virtual time too. None: it takes none,
    unless the study's own clock says so."""
    client: str | None = None
    """``browser`` or ``loader``; None leaves the study's own."""
    jobs: int | str | None = None
    """Blocks that run in parallel, or ``auto``; on a cluster per machine. None makes one, in
    virtual time one per core."""
    restarts: int | None = None
    """Starts of the testbed over which the runs are spread; None leaves the study's own."""
    shard: str | None = None
    """Like ``3/16``; None is all of the study."""
    cluster: str | None = None
    """``tcp://...``, ``local:3``, or a name in Dask's configuration; None is this machine."""
    admit_other_machines: bool = False
    """Whether machines of the cluster that differ from the others may make visits too."""
    watch: bool = False
    """Show a live page of the visits."""

    @property
    def clock(self) -> Clock:
        """The clock that is asked for."""
        if self.computing:
            return PRICED
        return REAL if self.computing is None and not self.virtual else NETWORK

    def adapt(self, study: Study) -> Study:
        """The study with the client, restarts and clock that are asked for. Raises
        `InputError`."""
        if self.client:
            study = study_by(study, self.client)
        study = spread(study, self.restarts)
        keeps_its_own = self.computing is None and (study.clock.virtual or not self.virtual)
        return study if keeps_its_own else structs.replace(study, clock=self.clock)

    def check(self, clock: Clock) -> None:
        """Raises `InputError` for what a study with this clock cannot do."""
        self.jobs_here(clock)
        self._part()
        if self.admit_other_machines and self.cluster is None:
            raise InputError("--admit-other-machines needs --cluster")

    def jobs_here(self, clock: Clock) -> int:
        """Blocks that run in parallel on this machine. Raises `InputError`."""
        if self.jobs is None:
            return most_jobs(clock) if clock.virtual else 1
        return parse_jobs(str(self.jobs), most_jobs(clock))

    def jobs_per_machine(self, clock: Clock) -> int | None:
        """Blocks that run in parallel on each machine of the cluster; None lets each decide.
        Raises `InputError`."""
        return None if self.jobs in (None, "auto") else self.jobs_here(clock)

    def belongs(self, study: Study) -> Callable[[Block], bool]:
        """Whether a block of the study belongs to the shard. Raises `InputError`."""
        return self._part().blocks(study)

    def _part(self) -> Shard:
        return parse_shard(self.shard) if self.shard else WHOLE


ONE_BY_ONE = RunOptions(jobs=1)
"""Options for one block after another on this machine."""
