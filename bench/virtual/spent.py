"""What a command took: seconds of the wall clock and of the processor."""

import resource
import subprocess
import time
from collections.abc import Mapping, Sequence

from msgspec import Struct


class Spent(Struct, frozen=True, kw_only=True):
    stdout: bytes
    wall_s: float
    cpu_s: float
    """CPU seconds of the command and everything it started."""


def spent_by(argv: Sequence[str], env: Mapping[str, str] | None = None) -> Spent:
    """Raises `CalledProcessError` if the command fails."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(argv, env=env, capture_output=True, check=True)
    wall_s = time.monotonic() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Spent(stdout=done.stdout, wall_s=wall_s, cpu_s=cpu_s)
