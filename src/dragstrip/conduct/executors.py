"""Chooses the executor of a study: this machine or a cluster."""

from dragstrip.conduct.calibration import before_visits
from dragstrip.conduct.options import RunOptions
from dragstrip.conduct.watcher import Watcher
from dragstrip.execution.by_clock import concurrency_of
from dragstrip.execution.executor import Executor
from dragstrip.execution.inventory import browsers_of
from dragstrip.execution.local import LocalExecutor
from dragstrip.model.errors import importing
from dragstrip.results.capsule import Capsule
from dragstrip.schedule.schedule import Schedule


def executor_of(
    capsule: Capsule, schedule: Schedule, options: RunOptions, watcher: Watcher
) -> Executor:
    """Return the executor, not yet open. Calibrates the link first, unless a cluster makes the
    visits.

    Raises `TestbedError` if the link is out of tolerance, see `before_visits`, and `InputError` if
    Dask, which a cluster needs, is not installed.
    """
    study = schedule.study
    if options.cluster:
        with importing("cluster", "--cluster"):
            from dragstrip.execution.dask.executor import dask_executor
        return dask_executor(
            options.cluster,
            capsule,
            schedule,
            jobs=options.jobs_per_machine(study.clock),
            admit_others=options.admit_other_machines,
            calibrate=options.calibrate,
            said=watcher.said,
        )
    before_visits(study, capsule, options.calibrate, watcher)
    jobs = options.jobs_here(study.clock)
    machine, browsers = capsule.manifest.starts[-1].machine.id, browsers_of(study)
    return LocalExecutor(
        schedule,
        capsule.path,
        concurrency=concurrency_of(study, jobs, capsule.made()),
        machine=machine,
        browsers=browsers,
    )
