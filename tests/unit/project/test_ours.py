"""Tests see what they started, orphans too, and nothing that other processes did."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import ours


def test_an_orphan_is_ours_and_another_ones_process_is_not():
    left_alone = "sleep 60 >/dev/null & echo $!"
    made = subprocess.run(["sh", "-c", left_alone], stdout=subprocess.PIPE, text=True, check=True)
    orphan = int(made.stdout)
    elsewhere = os.environ | {"TMPDIR": tempfile.gettempdir() + "-of-another"}
    with subprocess.Popen(["sleep", "60"], env=elsewhere) as other:
        try:
            while not runs(orphan, "sleep"):  # its shell may end before it has become that
                time.sleep(0.01)
            found = ours.processes()
            assert found[orphan] == ["sleep", "60"]
            assert other.pid not in found
        finally:
            other.kill()
            os.kill(orphan, signal.SIGKILL)


def runs(pid: int, program: str) -> bool:
    """Whether the process is past its `exec`, with arguments and environment in place."""
    process = Path(f"/proc/{pid}")
    argv, environment = (process / "cmdline").read_bytes(), (process / "environ").read_bytes()
    return argv.startswith(program.encode()) and bool(environment)


def test_what_testbeds_leave_is_looked_for_in_our_own_folder():
    code = "import tempfile; print(tempfile.gettempdir())"
    started = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    folder = Path(started.stdout.strip())
    assert folder == Path(tempfile.gettempdir()) != Path("/tmp")
    before = ours.left()
    scratch = folder / "dragstrip-of-a-test" / "testbed-left"
    scratch.mkdir(parents=True)
    assert ours.left() - before == {str(scratch)}
    scratch.rmdir()
    scratch.parent.rmdir()
