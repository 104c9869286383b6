"""Clusters that Dask's configuration makes: Dask's own classes, with workers that do not start."""

import time

import dask
import pytest
from distributed import Scheduler, SpecCluster
from distributed.deploy.spec import ProcessInterface

from dragstrip.execution.dask.named import named
from dragstrip.model.errors import InputError


class RefusedJob(ProcessInterface):
    async def start(self) -> None:
        raise RuntimeError("Command:\nsbatch /tmp/tmp12ab.sh\n\nstderr:\nno such partition")


def refusing_batch_system() -> SpecCluster:
    scheduler = {"host": "127.0.0.1", "port": 0, "dashboard": False}
    return SpecCluster(
        scheduler={"cls": Scheduler, "options": scheduler}, worker={"cls": RefusedJob}
    )


def unreachable_host() -> SpecCluster:
    raise RuntimeError("Cluster failed to start: [Errno 111] Connect call failed")


def test_jobs_that_a_batch_system_refuses_are_reported_in_one_line_and_once(caplog):
    entry = {"class": f"{__name__}.refusing_batch_system", "workers": 2}
    told: list[str] = []
    with dask.config.set({"dragstrip.clusters": {"slurm": entry}}):
        with named("slurm", told.append) as cluster:
            until = time.monotonic() + 10
            while not told and time.monotonic() < until:
                time.sleep(0.01)
        assert cluster.status.name in {"closing", "closed"}
    assert told == ["--cluster slurm: Command: sbatch /tmp/tmp12ab.sh stderr: no such partition"]
    assert "Traceback" not in caplog.text


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (f"{__name__}.unreachable_host", r"\(RuntimeError: .*Connect call failed\)"),
        ("no_such_module.SLURMCluster", r"\(ModuleNotFoundError: .*no_such_module"),
        ("distributed.NoSuchCluster", r"\(AttributeError: "),
    ],
)
def test_an_entry_that_makes_no_cluster_is_an_error_that_names_it(kind, said):
    with (
        dask.config.set({"dragstrip.clusters": {"lab": {"class": kind}}}),
        pytest.raises(InputError, match=rf"--cluster lab: dragstrip\.clusters\.lab .*{said}"),
        named("lab", print),
    ):
        pass
