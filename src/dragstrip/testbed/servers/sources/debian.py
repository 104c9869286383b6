"""Installs servers from a newer Debian release than this machine's.

APT resolves, fetches and verifies packages in separate folders, from this machine's mirrors. The
servers run with the libraries of their own release.
"""

import hashlib
from collections.abc import Sequence
from email.utils import parsedate_to_datetime
from pathlib import Path

from dragstrip.model.servers import Server
from dragstrip.testbed.errors import TestbedError
from dragstrip.testbed.servers.packages import UnpackedPackage, output_of
from dragstrip.testbed.servers.sources.source import Teller, name_of

RELEASE = "sid"


def fetch(server: Server, scratch: Path, home: Path, tell: Teller) -> list[UnpackedPackage]:
    return unpack(name_of(server).split(), scratch, home, tell)


def unpack(names: Sequence[str], scratch: Path, home: Path, tell: Teller) -> list[UnpackedPackage]:
    """Fetch packages with everything they need, verify and unpack them into `home`; return the
    first named package first. Raises `TestbedError`."""
    apt = _Apt(scratch / "apt")
    tell.status(f"reading what Debian {RELEASE} has")
    apt.run("update")
    archive = f"Debian {RELEASE}, {apt.day()}"
    wanted = ("install", "--yes", "--no-install-recommends", *names)
    sizes = [int(line.split()[2]) for line in apt.run(*wanted, "--print-uris").splitlines()]
    tell.announce(
        f"fetching {' and '.join(names)} and {len(sizes) - len(names)} packages they need from "
        f"{archive}, {sum(sizes) / 1e6:.0f} MB"
    )
    tell.status(f"fetching {len(sizes)} packages")
    apt.run(*wanted, "--download-only")
    packages = []
    for file in sorted(apt.archives.glob("*.deb")):
        output_of("dpkg-deb", "--extract", str(file), str(home))
        packages.append(_package(file, archive))
    return sorted(packages, key=lambda p: (p.name != names[0], p.name))


class _Apt:
    """APT with its own state, in which no package is installed yet."""

    def __init__(self, folder: Path) -> None:
        self.archives = folder / "archives"
        self._lists = folder / "lists"
        (self._lists / "partial").mkdir(parents=True)
        (self.archives / "partial").mkdir(parents=True)
        (folder / "status").touch()
        (folder / "sources.list").write_text(f"deb {_mirror()} {RELEASE} main\n")
        self._options = [
            f"Dir::Etc::SourceList={folder / 'sources.list'}",
            "Dir::Etc::SourceParts=/dev/null",
            "Dir::Etc::Preferences=/dev/null",
            "Dir::Etc::PreferencesParts=/dev/null",
            f"Dir::State::Lists={self._lists}",
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

    def run(self, *words: str) -> str:
        options = [word for option in self._options for word in ("-o", option)]
        return output_of("apt-get", "-qq", *options, *words)

    def day(self) -> str:
        """Return the archive's date, from its signed Release file."""
        for file in sorted(self._lists.glob("*Release")):
            if date := release_date(file.read_text(errors="replace")):
                return date
        raise TestbedError(f"Debian's list of {RELEASE} has no date")


def release_date(text: str) -> str:
    """Return the date of a Release file, such as ``2026-11-20``; empty if it has none."""
    for line in text.splitlines():
        if line.startswith("Date:"):
            return parsedate_to_datetime(line.removeprefix("Date:").strip()).date().isoformat()
    return ""


def _mirror() -> str:
    """Return the address of the mirror of this machine's first Debian source. Raises
    `TestbedError`."""
    shown = output_of("apt-get", "indextargets", "--format", "$(REPO_URI)|$(ORIGIN)|$(RELEASE)")
    for line in shown.splitlines():
        address, origin, _ = line.split("|")
        if origin == "Debian" and "security" not in address:
            return address
    raise TestbedError("APT knows no Debian mirror here: run `apt-get update` first")


def _package(file: Path, archive: str) -> UnpackedPackage:
    shown = output_of("dpkg-deb", "--show", "--showformat", "${Package} ${Version}", str(file))
    name, version = shown.split()
    with file.open("rb") as opened:
        digest = hashlib.file_digest(opened, "sha256").hexdigest()
    return UnpackedPackage(
        name=name, version=version, sha256=digest, bytes=file.stat().st_size, archive=archive
    )
