"""Builds servers from Go modules: our small program uses the modules that its go.sum pins.

`go` verifies each module against go.sum. The build itself has no network access.
"""

from functools import partial
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

REGISTRY = "Go's module proxy"
_SUMS = "go.sum"


def fetch(server: Server, scratch: Path, home: Path, tell: Teller) -> list[UnpackedPackage]:
    pins = pins_of(server)
    modules = modules_of(pins.files[_SUMS])
    tell.announce(offer(server, REGISTRY, len(modules) - 1))
    sources, cache = scratch / "sources", scratch / "modules"
    write_files(pins, sources)

    def go(*arguments: str, **environment: str) -> None:
        plain = {"GOFLAGS": "-modcacherw", "GOWORK": "off", "CGO_ENABLED": "0"}
        run(
            ["go", *arguments],
            cwd=sources,
            environment={**plain, "GOMODCACHE": str(cache), "GOTOOLCHAIN": "local", **environment},
            watch=scratch,
            progress=tell.progress(pins),
        )

    go("mod", "download")
    if (sources / _SUMS).read_text() != pins.files[_SUMS]:
        raise TestbedError(f"{_SUMS} of {server.name} lacks modules; nothing was installed")
    go("mod", "verify")
    program = home / (server.base or server.name)
    tell.status("building")
    go("build", "-mod=readonly", "-trimpath", "-o", str(program), ".", GOPROXY="off")
    return built_from(server, modules, "Go modules", partial(_size, cache))


def modules_of(sums: str) -> list[tuple[str, str, str]]:
    """List name, version and digest of each module in a go.sum whose files are pinned."""
    lines = (line.split() for line in sums.splitlines() if line)
    return [(n, v, digest) for n, v, digest in lines if not v.endswith("/go.mod")]


def _size(cache: Path, name: str, version: str) -> int:
    """Return the bytes of the module's archive; 0 if the build did not need the module."""
    escaped = "".join(f"!{c.lower()}" if c.isupper() else c for c in name)
    file = cache / "cache" / "download" / escaped / "@v" / f"{version}.zip"
    return file.stat().st_size if file.exists() else 0
