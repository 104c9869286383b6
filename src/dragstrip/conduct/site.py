"""Where the visits of a study are made: on this machine, or on a cluster's."""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from msgspec import Struct, structs

from dragstrip.browsers.registry import browser_version
from dragstrip.conduct.calibration import before_visits
from dragstrip.conduct.clocks import admission_of, guest_of, place_of
from dragstrip.conduct.options import RunOptions
from dragstrip.conduct.watcher import Watcher
from dragstrip.model.errors import importing
from dragstrip.model.study import CellKey, Study
from dragstrip.model.visit import Visit
from dragstrip.results.capsule import Capsule
from dragstrip.results.frames_cost import known
from dragstrip.results.manifest import Start
from dragstrip.schedule.executor import Executor
from dragstrip.schedule.host import seconds_left
from dragstrip.schedule.local import here
from dragstrip.schedule.schedule import Schedule
from dragstrip.testbed.servers.packages import version_of


class VisitSite(Struct, frozen=True):
    executor: Executor
    browser: Callable[[Visit], str]
    """What loaded the page, as its browser reports it."""

    def seconds(self, left: Mapping[CellKey, int]) -> float:
        """Time for this many visits on each cell."""
        return seconds_left(self.executor.hosts, left)


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


def browsers_of(study: Study) -> dict[str, str]:
    """What loads each stack here. Raises `TestbedError` if it is missing."""
    return {stack.name: browser_version(stack.browser) for stack in study.visited}


def servers_of(study: Study) -> dict[str, str]:
    """Versions of the servers that are not ours."""
    found = {s.server: version_of(s.serving) for s in study.visited}
    return {name: version for name, version in found.items() if version}


@contextmanager
def on_this_machine(
    capsule: Capsule, schedule: Schedule, options: RunOptions, watcher: Watcher
) -> Iterator[VisitSite]:
    """Raises `TestbedError` if its link is out of tolerance; see `before_visits`."""
    study = schedule.study
    before_visits(study, capsule, options.calibrate, watcher)
    admission = admission_of(study, options.jobs_here(study.clock), capsule.made())
    place = place_of(study, capsule.path, admission.company(schedule.left).pages)
    machine = capsule.manifest.starts[-1].machine.id
    browsers = browsers_of(study)
    with here(schedule, capsule.path, admission=admission, place=place, machine=machine) as local:
        yield VisitSite(local, lambda visit: browsers[visit.stack])


@contextmanager
def on_cluster(
    capsule: Capsule, schedule: Schedule, options: RunOptions, watcher: Watcher
) -> Iterator[VisitSite]:
    """Raises `InputError` if Dask is not installed or nothing answers at the address."""
    with importing("cluster", "--cluster"):
        from dragstrip.conduct.dask_site import dask_site
    with dask_site(capsule, schedule, options, watcher) as (executor, browser):
        yield VisitSite(executor, browser)
