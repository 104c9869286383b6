"""Servers of a newer Debian release than this machine's, unpacked into the cache folder.

APT resolves, fetches and verifies them in folders of its own, from the mirrors this machine uses;
nothing is installed on the machine. They run with the libraries that came along.
"""

import contextlib
import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import msgspec
from msgspec import Struct

from dragstrip.model.servers import Server
from dragstrip.testbed.cache import cache_folder
from dragstrip.testbed.errors import TestbedError

RELEASE = "sid"
_LIST = "packages.json"


class UnpackedPackage(Struct, frozen=True, kw_only=True):
    """A Debian package as it was unpacked."""

    name: str
    version: str
    sha256: str
    bytes: int


def home_of(server: Server) -> Path:
    """Where it lies once installed."""
    return cache_folder("servers") / (server.base or server.name)


def unpacked(server: Server) -> tuple[UnpackedPackage, ...]:
    """What its folder was made of, the server's own package first; empty if not installed."""
    file = home_of(server) / _LIST
    return (
        msgspec.json.decode(file.read_bytes(), type=tuple[UnpackedPackage, ...])
        if file.exists()
        else ()
    )


def version_of(server: Server) -> str:
    """Version of an installed server that is not ours; empty for ours."""
    if packages := unpacked(server):
        return f"{packages[0].name} {packages[0].version}"
    if server.digest:
        return f"{server.name}, build {server.digest}"
    for package in server.needs.values() if server.driver == "program" else ():
        with contextlib.suppress(TestbedError, FileNotFoundError):
            return f"{package} " + _run(
                "dpkg-query", "--show", "--showformat", "${Version}", package
            )
    return ""


def installed(server: Server) -> Path:
    """The server's folder. Raises `TestbedError` with what to do."""
    if not unpacked(server):
        raise TestbedError(
            f"{home_of(server).name} is not installed: run `dragstrip servers install "
            f"{home_of(server).name}`"
        )
    return home_of(server)


def loader(home: Path) -> list[str]:
    """Prefix of a program of the folder: the dynamic loader and libraries that came with it."""
    found = sorted(home.glob("usr/lib/*/ld-linux-*.so.*")) + sorted(home.glob("lib*/ld-linux-*"))
    if not found:
        raise TestbedError(f"{home} has no dynamic loader: install it again")
    folders = [f for f in (found[0].parent, home / "usr/lib") if f.is_dir()]
    return [str(found[0]), "--library-path", ":".join(map(str, folders))]


def install(server: Server, say: Callable[[str], None]) -> tuple[UnpackedPackage, ...]:
    """Fetch, verify and unpack a server with all it needs; an older copy is replaced. Raises
    `TestbedError`."""
    for program in ("apt-get", "dpkg-deb"):
        if not shutil.which(program):
            raise TestbedError(f"{program} is missing: dragstrip downloads servers with it")
    names = server.package.removeprefix("debian:").split()
    name = names[0]
    root = cache_folder("servers")
    root.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".installing-", dir=root) as folder:
        apt = _Apt(Path(folder) / "apt")
        say(f"reading what Debian {RELEASE} has")
        apt.run("update")
        say(f"fetching {' and '.join(names)} and what they need")
        apt.run("install", "--download-only", "--yes", "--no-install-recommends", *names)
        home = Path(folder) / "home"
        packages = []
        for archive in sorted(apt.archives.glob("*.deb")):
            _run("dpkg-deb", "--extract", str(archive), str(home))
            packages.append(_package(archive))
        packages.sort(key=lambda p: (p.name != name, p.name))
        (home / _LIST).write_bytes(msgspec.json.encode(packages))
        if home_of(server).exists():
            shutil.rmtree(home_of(server))
        home.rename(home_of(server))
    return tuple(packages)


class _Apt:
    """APT with its own state, in which nothing is installed yet."""

    def __init__(self, folder: Path) -> None:
        self.archives = folder / "archives"
        (folder / "lists" / "partial").mkdir(parents=True)
        (self.archives / "partial").mkdir(parents=True)
        (folder / "status").touch()
        (folder / "sources.list").write_text(f"deb {_mirror()} {RELEASE} main\n")
        self._options = [
            f"Dir::Etc::SourceList={folder / 'sources.list'}",
            "Dir::Etc::SourceParts=/dev/null",
            "Dir::Etc::Preferences=/dev/null",
            "Dir::Etc::PreferencesParts=/dev/null",
            f"Dir::State::Lists={folder / 'lists'}",
            f"Dir::State::Status={folder / 'status'}",
            f"Dir::State::Extended_States={folder / 'extended'}",
            f"Dir::Cache::Archives={self.archives}",
            f"Dir::Cache::PkgCache={folder / 'pkgcache.bin'}",
            f"Dir::Cache::SrcPkgCache={folder / 'srcpkgcache.bin'}",
            f"Dir::Log={folder}",
            "Debug::NoLocking=true",
            "APT::Sandbox::User=",
            "APT::Get::Assume-Yes=true",
        ]

    def run(self, *words: str) -> None:
        options = [word for option in self._options for word in ("-o", option)]
        _run("apt-get", "-qq", *options, *words)


def _mirror() -> str:
    """The mirror of this machine's first Debian source. Raises `TestbedError`."""
    shown = _run("apt-get", "indextargets", "--format", "$(REPO_URI)|$(ORIGIN)|$(RELEASE)")
    for line in shown.splitlines():
        address, origin, _ = line.split("|")
        if origin == "Debian" and "security" not in address:
            return address
    raise TestbedError("APT knows no Debian mirror here: run `apt-get update` first")


def _package(archive: Path) -> UnpackedPackage:
    told = _run("dpkg-deb", "--show", "--showformat", "${Package} ${Version}", str(archive))
    name, version = told.split()
    with archive.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return UnpackedPackage(name=name, version=version, sha256=digest, bytes=archive.stat().st_size)


def _run(*argv: str) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        words = " ".join(done.stderr.strip().splitlines()[-3:])
        raise TestbedError(f"{argv[0]} failed: {words or 'no output'}")
    return done.stdout
