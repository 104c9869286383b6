"""Waiting for a CPU is counted for the right end of the link, and only by threads that wait."""

import contextlib
import os
import subprocess
import time

from dragstrip.testbed.net.namespaces import namespaces
from dragstrip.visit.run_queue import RunQueue

SPIN = "while :; do :; done"


@contextlib.contextmanager
def running(argv: list[str]):
    with subprocess.Popen(argv, start_new_session=True) as child:
        try:
            yield
        finally:
            child.kill()


def test_two_that_share_a_core_wait_for_each_other_and_a_sleeper_at_the_other_end_does_not():
    core = str(min(os.sched_getaffinity(0)))
    with namespaces() as spaces, contextlib.ExitStack() as children:
        children.enter_context(running(spaces.command("origin", "sleep", "600")))
        for _ in range(2):
            spin = spaces.command("client", "taskset", "-c", core, "sh", "-c", SPIN)
            children.enter_context(running(spin))
        seen: dict[str, float] = {}
        deadline = time.monotonic() + 20
        # Waits are booked when they end.
        while len(seen) < 2 or seen["client"] < 100:
            assert time.monotonic() < deadline, seen
            queue = RunQueue(spaces)
            time.sleep(1)
            seen = queue.longest_ms()
        assert seen["origin"] < seen["client"]


def test_an_end_without_processes_says_nothing():
    with namespaces() as spaces:
        assert RunQueue(spaces).longest_ms() == {}
