"""The interface of every kind of archive: the programs that it needs, and a function that fetches a
server."""

import hashlib
import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from dragstrip.model.servers import Server
from dragstrip.model.servers.pins import Pins
from dragstrip.testbed.errors import TestbedError
from dragstrip.testbed.legacy.fetch import Progress
from dragstrip.testbed.servers.packages import UnpackedPackage


@dataclass(frozen=True)
class Teller:
    """Tells the user what is being fetched."""

    announce: Callable[[str], None] = lambda _: None
    """Called once, before any download, with a sentence on what will be fetched."""
    status: Callable[[str], None] = lambda _: None
    """Called with the current step."""

    def progress(self, pins: Pins) -> Progress:
        """Return a function that reports how much has arrived."""

        def said(arrived: int) -> None:
            self.status(f"{arrived / 1e6:.0f} of about {pins.bytes / 1e6:.0f} MB on disk")

        return said


@dataclass(frozen=True)
class Source:
    """A kind of archive."""

    name: str
    programs: Mapping[str, str]
    """Programs that fetching needs, with the Debian package of each."""
    fetch: Callable[[Server, Path, Path, Teller], Iterable[UnpackedPackage]]
    """Fetches a server, verifies it, and puts it into the second folder. The first folder is for
    scratch. Raises `TestbedError`."""


def pins_of(server: Server) -> Pins:
    """Return the server's pins. Every kind of archive needs pins, except Debian's."""
    assert server.pinned
    return server.pinned


def name_of(server: Server) -> str:
    """Return the package's name in its registry."""
    return server.package.partition(":")[2]


def from_day(name: str, pins: Pins) -> str:
    """Return an archive's name and date, in the form used in results."""
    return f"{name}, {pins.day}"


def offer(server: Server, registry: str, others: int = 0) -> str:
    """Return a sentence on what will be fetched."""
    pins = pins_of(server)
    more = f" and {others} more" if others else ""
    day = f"published {pins.day}" if pins.published else pins.day
    return (
        f"fetching {name_of(server)} {pins.version}{more} from {registry}, "
        f"{day}, about {pins.bytes / 1e6:.0f} MB"
    )


def verified(file: Path, named: str, digest: str) -> Path:
    """Check the file's digest and return the file. Raises `TestbedError`."""
    kind, mark, _ = re.split(r"([:-])", digest, maxsplit=1)
    with file.open("rb") as opened:
        found = hashlib.file_digest(opened, kind)
    said = found.hexdigest() if mark == ":" else b64encode(found.digest()).decode()
    if (have := f"{kind}{mark}{said}") != digest:
        raise TestbedError(f"{named} has the digest {have}, not {digest}; nothing was installed")
    return file


def pinned_package(
    named: str, digest: str, file: Path, registry: str, pins: Pins
) -> UnpackedPackage:
    """Check the archive's digest and return its package ``NAME VERSION``. Raises `TestbedError`."""
    name, version = named.split()
    return UnpackedPackage(
        name=name,
        version=version,
        sha256=digest.removeprefix("sha256:"),
        bytes=verified(file, named, digest).stat().st_size,
        archive=from_day(registry, pins),
    )


def built_from(
    server: Server,
    parts: Iterable[tuple[str, str, str]],
    registry: str,
    size: Callable[[str, str], int],
) -> list[UnpackedPackage]:
    """Return the packages that our program was built from, the server's own first. `parts` have
    name, version and digest; `size` returns a part's bytes, given its name and version."""
    own, archive = name_of(server), from_day(registry, pins_of(server))
    return [
        UnpackedPackage(
            name=name, version=version, sha256=digest, bytes=size(name, version), archive=archive
        )
        for name, version, digest in sorted(parts, key=lambda part: (part[0] != own, part[0]))
    ]


def only_file(folder: Path, named: str) -> Path:
    """Return the only file in the folder, which a client downloaded. Raises `TestbedError`."""
    found = [path for path in folder.iterdir() if path.is_file()]
    if len(found) != 1:
        raise TestbedError(f"{len(found)} files arrived for {named}, not one archive")
    return found[0]


def write_files(pins: Pins, folder: Path) -> None:
    """Write our program's sources into a new folder."""
    folder.mkdir()
    for name, text in pins.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
