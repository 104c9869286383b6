"""Makes a study's visits, into a capsule."""

import sys
import time
from math import inf
from pathlib import Path

import msgspec
from msgspec import structs

from dragstrip.browsers.load import Load
from dragstrip.browsers.registry import browser_version
from dragstrip.conduct.calibration import before_visits
from dragstrip.conduct.clocks import admission_of, guest_of, place_of
from dragstrip.conduct.shard import WHOLE, Shard
from dragstrip.conduct.watcher import Watcher
from dragstrip.model.clock import NETWORK
from dragstrip.model.errors import InputError
from dragstrip.model.study import Study
from dragstrip.model.visit import Visit
from dragstrip.results.artefacts import frames_file
from dragstrip.results.capsule import Capsule
from dragstrip.results.frames_cost import known
from dragstrip.results.manifest import Manifest, Start
from dragstrip.schedule.run import Schedule, run
from dragstrip.testbed.servers.packages import version_of
from dragstrip.visit.frames import write_frames
from dragstrip.visit.har import har

_UNHEARD = Watcher()


class TimeUp(Exception):
    """The time for visits is over; what was made is safely in the capsule."""


def make_visits(
    study: Study,
    out: Path,
    *,
    calibrate: bool | None = None,
    jobs: int = 1,
    until: float = inf,
    frozen: str = "",
    shard: Shard = WHOLE,
    watcher: Watcher = _UNHEARD,
) -> None:
    """Run what `out` still lacks of this `shard` of `study`, at most `jobs` blocks at once. See
    `before_visits` for `calibrate`; `frozen` is kept with the start.

    Raises `InputError` if `out` holds something else or virtual time is to be restarted,
    `TestbedError` if nothing can run here, and `TimeUp` after the first visit that ends later than
    `until` (`time.monotonic`).
    """
    if study.restarts > 1 and study.clock.virtual:
        raise InputError("restarts: in virtual time each block has a boot of its own; leave it out")
    versions = {stack.name: browser_version(stack.browser) for stack in study.visited}
    browsers = ", ".join(dict.fromkeys(versions.values()))
    start = Start.here(browser_version=browsers, command=tuple(sys.argv))
    start = structs.replace(start, server_versions=_versions(study), frozen=frozen)
    if guest := guest_of(study):
        start = structs.replace(start, guest=guest)
    if study.client.frames:
        start = structs.replace(start, frames_cost=known(start))
    made_on: dict[str, str | int] = {"machine": start.machine.id}
    if study.clock == NETWORK:  # where every machine gives the same bytes, whatever runs beside
        made_on = {"machine": "", "testbed": "", "beside": 0}
    with Capsule.create(out, Manifest(study=study, starts=(start,))) as capsule:
        stop = None
        if study.stopping or study.slow:
            from dragstrip.results.stopping import stop_rule  # what estimates loads slowly

            stop = stop_rule(study)
        schedule = Schedule(study, capsule.made(), stop, mine=shard.blocks(study))
        admission = admission_of(study, jobs, capsule.made())
        if schedule.visits_left():
            before_visits(study, capsule, calibrate, watcher)
        with watcher.progress(schedule, admission) as tell:

            def keep(visit: Visit, load: Load) -> None:
                _write_har(out, study, visit, load, versions[visit.stack])
                if load.frames:
                    write_frames(frames_file(out, visit), load.frames)
                capsule.append(structs.replace(visit, **made_on))
                tell(visit)
                if time.monotonic() > until:
                    raise TimeUp

            place = place_of(study, out)
            run(schedule, keep, out, admission=admission, place=place)
        capsule.finish()


def _versions(study: Study) -> dict[str, str]:
    """Of the servers that are not ours."""
    found = {s.server: version_of(s.serving) for s in study.visited}
    return {name: version for name, version in found.items() if version}


def _write_har(out: Path, study: Study, visit: Visit, load: Load, browser: str) -> None:
    folder = out / "har"
    folder.mkdir(exist_ok=True)
    archive = har(visit, load, study.page(visit.page).url, browser)
    (folder / f"{visit.file_name}.har").write_bytes(msgspec.json.encode(archive))
