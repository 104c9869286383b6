"""Builds servers from Rust crates: our small program uses the crates that its Cargo.lock pins.

Cargo verifies each crate against the lock file. The build itself has no network access.
"""

import os
import shutil
import tomllib
from pathlib import Path

from dragstrip.model.servers import Server
from dragstrip.testbed.errors import TestbedError
from dragstrip.testbed.legacy.fetch import run
from dragstrip.testbed.servers.packages import UnpackedPackage
from dragstrip.testbed.servers.sources.source import (
    Teller,
    built_from,
    offer,
    pins_of,
    write_files,
)

REGISTRY = "crates.io"
_LOCK = "Cargo.lock"


def fetch(server: Server, scratch: Path, home: Path, tell: Teller) -> list[UnpackedPackage]:
    pins = pins_of(server)
    crates = crates_of(pins.files[_LOCK])
    tell.announce(offer(server, REGISTRY, len(crates) - 1))
    sources, target = scratch / "sources", scratch / "target"
    write_files(pins, sources)

    def cargo(*arguments: str) -> None:
        run(
            ["cargo", *arguments, "--locked"],
            cwd=sources,
            environment={"CARGO_TARGET_DIR": str(target), "CARGO_INCREMENTAL": "0"},
            watch=scratch,
            progress=tell.progress(pins),
        )

    cargo("fetch")
    tell.status("building")
    cargo("build", "--release", "--offline")
    name = server.base or server.name
    program = target / "release" / name
    if not program.is_file():
        raise TestbedError(f"cargo built no {name}; nothing was installed")
    shutil.copy(program, home / name)
    return built_from(server, crates, REGISTRY, _size)


def crates_of(lock: str) -> list[tuple[str, str, str]]:
    """List name, version and SHA-256 of each crate in a lock file, except our own crate."""
    found = tomllib.loads(lock)["package"]
    return [(p["name"], p["version"], p["checksum"]) for p in found if "checksum" in p]


def _size(name: str, version: str) -> int:
    """Return the bytes of the crate in Cargo's cache; 0 if it is missing."""
    home = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")
    files = home.glob(f"registry/cache/*/{name}-{version}.crate")
    return next((file.stat().st_size for file in files), 0)
