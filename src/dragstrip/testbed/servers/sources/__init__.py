"""Installs servers, with one module per kind of archive.

Each server is fetched by its archive's own client, which uses the machine's mirrors, proxies and
passwords. No file runs before its digest is checked.
"""

import platform
import shutil
from collections.abc import Mapping
from pathlib import Path

import msgspec

from dragstrip.model.servers import Server
from dragstrip.testbed.cache import cache_folder, unfinished
from dragstrip.testbed.errors import TestbedError
from dragstrip.testbed.servers.packages import LIST, UnpackedPackage, home_of
from dragstrip.testbed.servers.sources import crates, debian, go, maven, npm, pypi
from dragstrip.testbed.servers.sources.source import Source, Teller

_SOURCES: Mapping[str, Source] = {
    "debian": Source("Debian's archive", {"apt-get": "apt", "dpkg-deb": "dpkg"}, debian.fetch),
    "pypi": Source(pypi.REGISTRY, {"pip3": "python3-pip"}, pypi.fetch),
    "npm": Source(npm.REGISTRY, {"npm": "npm"}, npm.fetch),
    "maven": Source(
        maven.REGISTRY, {"mvn": "maven", "javac": "openjdk-17-jdk-headless"}, maven.fetch
    ),
    "crates": Source(crates.REGISTRY, {"cargo": "cargo"}, crates.fetch),
    "go": Source(go.REGISTRY, {"go": "golang-go"}, go.fetch),
}
_HOME = "{{ home }}/"


def source_of(server: Server) -> Source:
    """Return the kind of archive that a server comes from."""
    return _SOURCES[server.source_kind]


def install(server: Server, tell: Teller) -> tuple[UnpackedPackage, ...]:
    """Fetch, verify and unpack a server with everything it needs, or build it. An older copy is
    replaced.

    If this fails, the server's folder stays unchanged. Raises `TestbedError`.
    """
    source = source_of(server)
    for program, package in source.programs.items():
        if not shutil.which(program):
            raise TestbedError(
                f"{program} is missing: apt-get install {package}; dragstrip installs "
                f"{server.name} with it"
            )
    if server.pinned and server.pinned.machine not in ("", platform.machine()):
        raise TestbedError(
            f"{server.name} is pinned for {server.pinned.machine}; this machine is "
            f"{platform.machine()}"
        )
    with unfinished(cache_folder("servers")) as scratch:
        made = scratch / "home"
        made.mkdir()
        packages = tuple(source.fetch(server, scratch, made, tell))
        _has_its_program(server, made)
        (made / LIST).write_bytes(msgspec.json.encode(packages))
        home = home_of(server)
        if home.exists():
            shutil.rmtree(home)
        made.rename(home)
    return packages


def _has_its_program(server: Server, home: Path) -> None:
    for word in server.command:
        if word.startswith(_HOME) and not (home / word.removeprefix(_HOME)).exists():
            raise TestbedError(
                f"{server.package} has no {word.removeprefix(_HOME)}; nothing was installed"
            )
