"""Archives that hold a program as it runs: fetched, verified, and their members unpacked."""

from collections.abc import Callable
from pathlib import Path

from dragstrip.model.servers.pins import Pins
from dragstrip.testbed.legacy.unpack import unpack
from dragstrip.testbed.servers.packages import UnpackedPackage
from dragstrip.testbed.servers.sources.source import from_day, only_file, verified


def unpack_verified(
    pins: Pins,
    registry: str,
    scratch: Path,
    home: Path,
    download: Callable[[str, str, str, Path], None],
) -> list[UnpackedPackage]:
    """What was unpacked into `home`. `download` gets name, version, digest, and the folder that the
    archive goes to. Raises `TestbedError`."""
    packages = []
    for number, (named, digest) in enumerate(pins.archives.items()):
        name, version = named.split()
        folder = scratch / f"archive-{number}"
        folder.mkdir()
        download(name, version, digest, folder)
        file = verified(only_file(folder, named), named, digest)
        unpack(file, pins.members, home)
        packages.append(
            UnpackedPackage(
                name=name,
                version=version,
                sha256=digest.removeprefix("sha256:"),
                bytes=file.stat().st_size,
                archive=from_day(registry, pins),
            )
        )
    return packages
