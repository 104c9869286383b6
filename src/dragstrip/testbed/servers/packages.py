"""Finds installed servers: their folders in the cache, and the packages that they were made from.

`dragstrip.testbed.servers.sources` puts servers there. Nothing is installed on the machine.
"""

import contextlib
import subprocess
from pathlib import Path

import msgspec
from msgspec import Struct

from dragstrip.model.servers import Server
from dragstrip.testbed.cache import cache_folder
from dragstrip.testbed.errors import TestbedError

LIST = "packages.json"
"""File in a server's folder that lists its packages."""


class UnpackedPackage(Struct, frozen=True, kw_only=True):
    """A package that was unpacked."""

    name: str
    version: str
    sha256: str
    """Hex digits of the package's SHA-256; or the digest that its registry gives instead, with its
    kind: ``sha512-``, ``h1:``."""
    bytes: int
    archive: str = ""
    """The archive that the package came from, with the archive's date."""


def home_of(server: Server) -> Path:
    """Return the server's folder once it is installed. Another release has another folder."""
    release = f"-{server.pinned.version}-{server.pinned.digest}" if server.pinned else ""
    return cache_folder("servers") / f"{server.base or server.name}{release}"


def unpacked(server: Server) -> tuple[UnpackedPackage, ...]:
    """Return the packages that the server was made from, its own package first; none if it is not
    installed."""
    file = home_of(server) / LIST
    return (
        msgspec.json.decode(file.read_bytes(), type=tuple[UnpackedPackage, ...])
        if file.exists()
        else ()
    )


def version_of(server: Server) -> str:
    """Return version and archive date of an installed server; empty for our own servers."""
    if packages := unpacked(server):
        first = packages[0]
        return f"{first.name} {first.version}" + (f" ({first.archive})" if first.archive else "")
    if server.digest:
        return f"{server.name}, build {server.digest}"
    for package in server.needs.values() if server.driver == "program" else ():
        with contextlib.suppress(TestbedError, FileNotFoundError):
            return f"{package} " + output_of(
                "dpkg-query", "--show", "--showformat", "${Version}", package
            )
    return ""


def installed(server: Server) -> Path:
    """Return the server's folder. Raises `TestbedError`, which says how to install the server."""
    if not unpacked(server):
        name = server.base or server.name
        raise TestbedError(f"{name} is not installed: run `dragstrip servers install {name}`")
    return home_of(server)


def loader(home: Path) -> list[str]:
    """Return the prefix of a command that runs a program of the folder with its own dynamic loader
    and libraries."""
    found = sorted(home.glob("usr/lib/*/ld-linux-*.so.*")) + sorted(home.glob("lib*/ld-linux-*"))
    if not found:
        raise TestbedError(f"{home} has no dynamic loader: install it again")
    folders = [f for f in (found[0].parent, home / "usr/lib") if f.is_dir()]
    return [str(found[0]), "--library-path", ":".join(map(str, folders))]


def output_of(*argv: str) -> str:
    """Run a command and return its output. Raises `TestbedError` with the output's last lines."""
    done = subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        words = " ".join(done.stderr.strip().splitlines()[-3:])
        raise TestbedError(f"{argv[0]} failed: {words or 'no output'}")
    return done.stdout
