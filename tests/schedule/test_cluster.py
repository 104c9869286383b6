"""A study on a real scheduler and real workers, with made visits."""

import multiprocessing
import os
import signal
import threading
import time
from pathlib import Path

import pytest
from msgspec import structs

import made
from dask_processes import dask_processes
from dragstrip.execution.dask.page_sender import PageSender
from dragstrip.execution.dask.worker_pool import PoolWorker
from dragstrip.model.errors import InputError
from dragstrip.model.study import Study
from dragstrip.pages.format.archive import write_page
from dragstrip.pages.generators.synth import synth
from dragstrip.results.capsule import Capsule
from dragstrip.testbed.errors import TestbedError
from made_cluster import one_is_odd, run_on
from made_session import run_in

RUNS = 20


@pytest.fixture
def study(tmp_path: Path) -> Study:
    page = write_page(tmp_path / "page.har.zip", synth("2x1KB"))
    whole = made.study(runs=RUNS)
    return structs.replace(whole, pages=(structs.replace(page, name="made"),))


def visits(folder: Path) -> list[tuple[str, int, str, int, int, str]]:
    made_there = Capsule.open(folder).as_made()
    return [(v.block, v.attempt, v.stack, v.seed, v.position, v.verdict) for v in made_there]


def serial(study: Study, folder: Path) -> list[tuple[str, int, str, int, int, str]]:
    run_in(folder, study, 1)
    return visits(folder)


def complete(folder: Path) -> list[str]:
    """Blocks whose last attempt has every stack, each once."""
    made: dict[str, dict[int, set[str]]] = {}
    found = visits(folder)
    assert len({key[:3] for key in found}) == len(found), "a visit is there twice"
    for block, attempt, stack, *_ in found:
        made.setdefault(block, {}).setdefault(attempt, set()).add(stack)
    return [block for block, attempts in made.items() if len(attempts[max(attempts)]) == 3]


def complete_serial(study: Study, folder: Path) -> list[str]:
    serial(study, folder)
    return complete(folder)


def machines(folder: Path) -> dict[str, set[str]]:
    """The machines that made the visits of each attempt at a block."""
    found: dict[str, set[str]] = {}
    for visit in Capsule.open(folder).as_made():
        found.setdefault(f"{visit.block} {visit.attempt}", set()).add(visit.machine)
    return found


def test_a_cluster_makes_the_visits_of_a_serial_run_each_block_on_one_machine(
    study, tmp_path, cluster
):
    run_on(cluster.address, tmp_path / "c", study, pause_s=0.02)
    assert sorted(visits(tmp_path / "c")) == sorted(serial(study, tmp_path / "s"))
    by = machines(tmp_path / "c")
    assert all(len(names) == 1 for names in by.values())
    assert len(set.union(*by.values())) == 3, "all of them worked"
    [start] = Capsule.open(tmp_path / "c").manifest.starts
    admitted = {one.machine.id: one.calibration for one in start.admitted}
    assert admitted.keys() == set.union(*by.values())
    assert None not in admitted.values()


def test_a_worker_that_is_killed_or_falls_silent_costs_its_blocks_only(study, tmp_path):
    with dask_processes(tmp_path / "dask", 3, DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL="3s") as dask:
        dead, silent, _ = dask.workers
        over = threading.Event()

        def disturb() -> None:
            journal = tmp_path / "c" / "journal.jsonl"
            for victim, with_, after in (
                (dead, signal.SIGKILL, 6),
                (silent, signal.SIGSTOP, 20),
            ):
                while not journal.exists() or journal.read_bytes().count(b"\n") < after:
                    time.sleep(0.01)
                os.kill(victim.pid, with_)
            while not over.wait(0.2):  # as a batch system does
                if sum(w.poll() is None for w in dask.workers if w is not silent) < 2:
                    dask.add_worker()

        thread = threading.Thread(target=disturb, daemon=True)
        thread.start()
        try:
            run_on(dask.address, tmp_path / "c", study, pause_s=0.05)
        finally:
            over.set()
        thread.join()
    assert sorted(visits(tmp_path / "c")) == sorted(serial(study, tmp_path / "s"))
    assert all(len(names) == 1 for names in machines(tmp_path / "c").values())


def test_a_client_that_is_killed_goes_on_where_it_was(study, tmp_path, cluster):
    out = tmp_path / "c"
    context = multiprocessing.get_context("spawn")
    for share in (0.2, 0.6):
        client = context.Process(
            target=run_on, args=(cluster.address, out, study), kwargs={"pause_s": 0.05}
        )
        client.start()
        journal = out / "journal.jsonl"
        while not journal.exists() or journal.read_bytes().count(b"\n") < share * RUNS * 3:
            time.sleep(0.01)
        client.kill()
        client.join()
    run_on(cluster.address, out, study)
    whole, wanted = complete(out), complete_serial(study, tmp_path / "s")
    assert sorted(whole) == sorted(wanted)
    assert all(len(names) == 1 for names in machines(out).values())


def test_without_its_scheduler_a_client_ends_and_what_was_made_stays(study, tmp_path):
    with dask_processes(tmp_path / "dask", 2) as dask:

        def kill() -> None:
            journal = tmp_path / "c" / "journal.jsonl"
            while not journal.exists() or not journal.stat().st_size:
                time.sleep(0.01)
            os.kill(dask.scheduler.pid, signal.SIGKILL)

        thread = threading.Thread(target=kill, daemon=True)
        thread.start()
        with pytest.raises(TestbedError, match="scheduler is gone"):
            run_on(dask.address, tmp_path / "c", study, pause_s=0.1)
        thread.join()
    with dask_processes(tmp_path / "dask", 2) as dask:
        run_on(dask.address, tmp_path / "c", study)
    assert sorted(visits(tmp_path / "c")) == sorted(serial(study, tmp_path / "s"))


@pytest.mark.parametrize("admitted", [False, True])
def test_a_machine_unlike_the_others_is_refused_or_let_in_as_another(
    admitted, study, tmp_path, cluster
):
    said: list[str] = []
    with cluster.one_more(ODD="1") as odd:
        run_on(
            cluster.address,
            tmp_path / "c",
            study,
            pause_s=0.02,
            fingerprint=one_is_odd,
            admit_others=admitted,
            tell=said.append,
        )
    made_by = set.union(*machines(tmp_path / "c").values())
    assert (f"m{odd.pid}" in made_by) == admitted
    told = [s for s in said if "makes no visits: browser of h2 other, others usual" in s]
    assert len(told) == (not admitted)


def test_a_machine_that_holds_the_answers_of_one_side_is_refused(study, tmp_path, cluster):
    said: list[str] = []
    with cluster.one_more(LIE="1") as liar:
        run_on(cluster.address, tmp_path / "c", study, pause_s=0.02, tell=said.append)
    made_by = set.union(*machines(tmp_path / "c").values())
    assert made_by
    assert f"m{liar.pid}" not in made_by
    [told] = [s for s in said if "makes no visits: its A/A control differs" in s]
    assert f"m{liar.pid} " in told
    assert "h2 is slower under its second name" in told
    [start] = Capsule.open(tmp_path / "c").manifest.starts
    controls = {one.machine.id: one.aa_control for one in start.admitted}
    assert controls.keys() >= made_by
    assert all(control and control.passed for control in controls.values())


def test_a_cluster_of_liars_makes_no_visits(study, tmp_path):
    with (
        dask_processes(tmp_path / "dask", 1, LIE="1") as dask,
        pytest.raises(TestbedError, match="no machine of the cluster can make visits: its A/A"),
    ):
        run_on(dask.address, tmp_path / "c", study)


def test_a_page_that_a_machine_lacks_is_sent_once_by_digest(study, tmp_path, monkeypatch):
    sends: list[str] = []
    send = PageSender._send

    def counted(pages: PageSender, worker: PoolWorker) -> None:
        sends.extend(worker.lacks)
        send(pages, worker)

    monkeypatch.setattr(PageSender, "_send", counted)
    monkeypatch.chdir(tmp_path)
    [page] = study.pages
    here = structs.replace(study, pages=(structs.replace(page, path=Path("page.har.zip")),), runs=2)
    cache = tmp_path / "cache"
    with dask_processes(tmp_path / "elsewhere", 2, XDG_CACHE_HOME=str(cache)) as dask:
        run_on(dask.address, tmp_path / "c", here)
    [sent] = (cache / "dragstrip" / "sent-pages").glob("*.zip")
    assert sent.read_bytes() == page.path.read_bytes()
    assert sent.name == f"{page.digest}.har.zip"
    assert sends == [page.digest], "the second worker finds it in the cache of both"
    assert len(visits(tmp_path / "c")) >= 6


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("local:0", "give a number of workers"),
        ("lab", "no such entry under dragstrip.clusters"),
        ("tcp://127.0.0.1:9", "no scheduler answers"),
    ],
)
def test_a_cluster_that_is_not_there_is_an_error_that_says_so(address, said, study, tmp_path):
    with pytest.raises(InputError, match=said):
        run_on(address, tmp_path / "c", study)
