"""`dragstrip run`: a study from a file."""

from pathlib import Path
from typing import Annotated

import typer

from dragstrip.cli.options import (
    AdmitOthers,
    AsJson,
    ByClient,
    Calibrate,
    ClusterOption,
    Computing,
    DryRun,
    Jobs,
    Out,
    Restarts,
    ShardOption,
    Virtual,
    WatchOption,
)
from dragstrip.cli.places import new_capsule, page_cache
from dragstrip.cli.study.conduct import present, shown
from dragstrip.cli.study.dry_run import dry_run
from dragstrip.conduct.clocks import clock_of, jobs_of, timed
from dragstrip.conduct.cluster import cluster_of
from dragstrip.conduct.restarts import spread
from dragstrip.conduct.shard import WHOLE, parse_shard
from dragstrip.conduct.visits import make_visits
from dragstrip.schedule.scale import scaled
from dragstrip.study.clients import study_by
from dragstrip.study.file import read_study


def run(
    study: Annotated[Path, typer.Argument(help="Study file (TOML).", metavar="STUDY.toml")],
    out: Out = None,
    calibrate: Calibrate = None,
    virtual: Virtual = False,
    computing: Computing = False,
    client: ByClient = None,
    jobs: Jobs = None,
    restarts: Restarts = None,
    shard: ShardOption = None,
    cluster: ClusterOption = None,
    admit_other_machines: AdmitOthers = False,
    watch: WatchOption = False,
    scale: Annotated[
        str,
        typer.Option(help="smoke (cheapest cells, 10 minutes), paper (all), or a share of runs."),
    ] = "paper",
    dry: DryRun = False,
    as_json: AsJson = False,
) -> int:
    """Run a study, or resume one."""
    asked = scaled(read_study(study, page_cache()), scale)
    if client:
        asked = study_by(asked, client)
    clock = clock_of(virtual=virtual, computing=computing)
    resolved = timed(spread(asked, restarts), clock)
    at_most = jobs_of(resolved.clock, jobs)
    share = parse_shard(shard) if shard else WHOLE
    if dry:
        return dry_run(resolved, out, at_most, share)
    machines = cluster_of(cluster, jobs, resolved.clock, admit_others=admit_other_machines)
    folder = out or new_capsule(resolved.name)
    with shown(folder, watch=watch) as watcher:
        make_visits(
            resolved,
            folder,
            calibrate=calibrate,
            jobs=at_most,
            shard=share,
            cluster=machines,
            watcher=watcher,
        )
    return present(folder, as_json=as_json)
