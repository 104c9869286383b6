"""Makes a study's visits and stores them in a capsule."""

import time
from collections.abc import Collection
from contextlib import ExitStack
from math import inf
from pathlib import Path

import msgspec
from msgspec import structs

from dragstrip.browsers.load import Load
from dragstrip.conduct.executors import executor_of
from dragstrip.conduct.options import ONE_BY_ONE, RunOptions
from dragstrip.conduct.start import continues, start_of
from dragstrip.conduct.watcher import Watcher
from dragstrip.execution.executor import opened
from dragstrip.execution.host import seconds_left
from dragstrip.execution.run import run
from dragstrip.model.errors import InputError
from dragstrip.model.study import CellKey, Study
from dragstrip.model.visit import Visit
from dragstrip.results.artefacts import frames_file, tasks_file
from dragstrip.results.capsule import Capsule
from dragstrip.results.manifest import Manifest
from dragstrip.schedule.schedule import Schedule
from dragstrip.visit.frames import write_frames
from dragstrip.visit.har import har
from dragstrip.visit.objects import find_metric

_UNHEARD = Watcher()


class TimeUp(Exception):
    """The time for visits is over; all visits made are in the capsule."""


def make_visits(
    study: Study,
    out: Path,
    options: RunOptions = ONE_BY_ONE,
    *,
    until: float = inf,
    frozen: str = "",
    cells: Collection[CellKey] | None = None,
    watcher: Watcher = _UNHEARD,
) -> None:
    """Make the visits of `study` that `out` lacks, or only those of `cells`. `options` say where
    and how; call `RunOptions.adapt` on the study before. `frozen` is recorded with the start.

    Raises `InputError` if `out` holds another study or the number of restarts is not possible,
    `TestbedError` if the testbed cannot run, and `TimeUp` after the first visit that ends later
    than `until` (`time.monotonic`).
    """
    options.check(study)
    _check_restarts(study)
    for name in study.metrics:
        find_metric(name)
    start = start_of(study, frozen, on_cluster=options.cluster is not None)
    made_on: dict[str, str | int] = {}
    if study.clock.virtual:  # every machine gives the same bytes, whatever else runs
        made_on = {"machine": "", "testbed": "", "beside": 0}
    with ExitStack() as resources:
        capsule = resources.enter_context(
            Capsule.create(out, Manifest(study=study, starts=(start,)))
        )
        stop = None
        if study.stopping or study.slow:
            from dragstrip.results.compare.stopping import stop_rule  # imports slowly

            stop = stop_rule(study)
        ours = options.belongs(study)
        schedule = Schedule(
            study,
            capsule.made(),
            stop,
            mine=lambda block: ours(block) and (cells is None or block.cell in cells),
            continues=continues(study, None if options.cluster else start.machine.id),
        )
        if schedule.visits_left():
            executor = resources.enter_context(
                opened(executor_of(capsule, schedule, options, watcher))
            )
            tell = resources.enter_context(
                watcher.progress(schedule, lambda left: seconds_left(executor.hosts, left))
            )

            def keep(visit: Visit, load: Load) -> None:
                _write_har(out, study, visit, load, executor.browser(visit))
                if load.frames:
                    write_frames(frames_file(out, visit), load.frames)
                if load.tasks:
                    _write_tasks(tasks_file(out, visit), load)
                # A cluster's visits of an attempt come together, so they wait for the disk once.
                last = visit.position == study.visits_of(visit.block) - 1
                capsule.append(structs.replace(visit, **made_on), sync=last or not options.cluster)
                tell(visit)
                if time.monotonic() > until:
                    raise TimeUp

            run(schedule, keep, executor)
        capsule.finish()


def _check_restarts(study: Study) -> None:
    if study.restarts > 1 and study.clock.virtual:
        raise InputError("restarts: in virtual time each guest has its own boot; omit it")


def _write_har(out: Path, study: Study, visit: Visit, load: Load, browser: str) -> None:
    folder = out / "har"
    folder.mkdir(exist_ok=True)
    archive = har(visit, load, study.page(visit.page).url, browser)
    (folder / f"{visit.file_name}.har").write_bytes(msgspec.json.encode(archive))


def _write_tasks(target: Path, load: Load) -> None:
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(msgspec.json.encode(load.tasks))
