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
        client = origin = None
        deadline = time.monotonic() + 20
        # The kernel adds a wait when it ends.
        while client is None or origin is None or client < 100:
            assert time.monotonic() < deadline, (client, origin)
            queue = RunQueue(spaces)
            time.sleep(0.4)
            seen = queue.look()
            client, origin = seen.longest_ms("client"), seen.longest_ms("origin")
        assert origin < client


def test_running_is_counted_where_it_happens():
    with namespaces() as spaces, contextlib.ExitStack() as children:
        children.enter_context(running(spaces.command("link", "sh", "-c", SPIN)))
        children.enter_context(running(spaces.command("client", "sleep", "600")))
        deadline = time.monotonic() + 20
        link = client = None
        while not link or client is None or link < 0.03:
            assert time.monotonic() < deadline, (link, client)
            queue = RunQueue(spaces)
            time.sleep(0.4)
            seen = queue.look()
            link, client = seen.ran_s("link"), seen.ran_s("client")
        assert link > client


def test_a_server_is_told_apart_from_the_origin_behind_it():
    confined = ("unshare", "--pid", "--fork", "--kill-child", "sh", "-c", SPIN)
    with namespaces() as spaces, contextlib.ExitStack() as children:
        children.enter_context(running(spaces.command("origin", "sleep", "600")))
        deadline = time.monotonic() + 20
        assert RunQueue(spaces).look().confined_ran_s("origin") is None
        children.enter_context(running(spaces.command("origin", *confined)))
        alone = None
        while not alone or alone < 0.03:
            assert time.monotonic() < deadline, alone
            queue = RunQueue(spaces)
            time.sleep(0.4)
            seen = queue.look()
            alone, both = seen.confined_ran_s("origin"), seen.ran_s("origin")
        assert both >= alone


def test_an_end_without_processes_says_nothing():
    with namespaces() as spaces:
        seen = RunQueue(spaces).look()
        assert seen.longest_ms("client") is None
        assert seen.ran_s("link") is None
