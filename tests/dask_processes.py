"""A real Dask scheduler and its workers, each a process that can be killed."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from distributed import Client

PATIENCE_S = 60.0
_IDLE = {"DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False"}
"""Switches off the profiler, which samples a hundred times a second."""


class Processes:
    def __init__(self, folder: Path, env: dict[str, str]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        path = os.pathsep.join(filter(None, sys.path))
        self._env = {**os.environ, "PYTHONPATH": path, **_IDLE, **env}
        self._file = folder / "scheduler.json"
        self.workers: list[subprocess.Popen[bytes]] = []
        self._file.unlink(missing_ok=True)
        self.scheduler = self._start(
            "scheduler",
            *("--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(self._file)),
        )
        deadline = time.monotonic() + PATIENCE_S
        while not (self._file.exists() and self._file.read_text().strip()):
            assert time.monotonic() < deadline, "the scheduler does not start"
            assert self.scheduler.poll() is None
            time.sleep(0.05)
        self.address: str = json.loads(self._file.read_text())["address"]

    def add_worker(self, *options: str) -> "subprocess.Popen[bytes]":
        worker = self._start(
            "worker",
            self.address,
            *("--no-nanny", "--nthreads", "1", "--host", "127.0.0.1", *options),
            *("--local-directory", str(self._folder)),
        )
        self.workers.append(worker)
        return worker

    @contextlib.contextmanager
    def one_more(self, **env: str) -> Iterator["subprocess.Popen[bytes]"]:
        """Adds a worker with another environment, until the context ends."""
        self.wait_for_workers()  # those that come first decide what the others must be like
        before, self._env = self._env, {**self._env, **env}
        worker = self.add_worker()
        self._env = before
        self.wait_for_workers()
        yield worker
        self.workers.remove(worker)
        os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()
        self.wait_for_workers()

    def wait_for_workers(self) -> None:
        """Waits until the scheduler knows exactly these workers."""
        deadline = time.monotonic() + PATIENCE_S
        with Client(self.address, timeout=PATIENCE_S) as client:
            while len(client.scheduler_info(n_workers=-1)["workers"]) != len(self.workers):
                assert time.monotonic() < deadline, "a worker does not come, or does not leave"
                time.sleep(0.02)

    def end(self) -> None:
        for process in (*self.workers, self.scheduler):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def _start(self, what: str, *options: str) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            [sys.executable, "-m", "dask", what, "--no-dashboard", *options],
            cwd=self._folder,
            env=self._env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )


@contextlib.contextmanager
def dask_processes(folder: Path, workers: int, **env: str) -> Iterator[Processes]:
    """Processes of Dask in `folder`, which is also where the workers run. All are gone when this
    ends."""
    running = Processes(folder, env)
    try:
        for _ in range(workers):
            running.add_worker()
        yield running
    finally:
        running.end()
