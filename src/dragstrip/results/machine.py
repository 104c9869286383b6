"""A machine on which visits are made."""

import hashlib
import os
import platform
from pathlib import Path

from msgspec import Struct


class Machine(Struct, frozen=True, kw_only=True):
    """A machine on which visits are made."""

    kernel: str
    cpu: str
    cores: int
    memory_mb: int
    python: str
    id: str = ""
    """Random id of the machine; empty in older capsules."""

    @classmethod
    def here(cls) -> "Machine":
        pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        return cls(
            kernel=platform.release(),
            cpu=_cpu_model(),
            cores=os.cpu_count() or 1,
            memory_mb=pages // 2**20,
            python=platform.python_version(),
            id=_machine_id(),
        )


def _machine_id() -> str:
    """Return a digest of the machine's id and name. The machine-id(5) itself must not be published.
    Containers may share it, but not the name."""
    try:
        known = Path("/etc/machine-id").read_text()
    except OSError:
        known = ""
    return hashlib.sha256(f"dragstrip:{known.strip()}:{platform.node()}".encode()).hexdigest()[:8]


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    models = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.machine())
