"""Downloads archives from package registries with the registries' own clients.

The clients use their user's configuration: another registry, a proxy, a password. So this module
contains no registry's address. Everything that the clients write goes to a scratch folder.
"""

import contextlib
import hashlib
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from dragstrip.testbed.errors import TestbedError
from dragstrip.testbed.legacy.catalogue import Item, Registry

_LOOK_S = 0.2

Progress = Callable[[int], None]
"""Called with the number of bytes so far, about five times a second."""


def fetch(item: Item, scratch: Path, progress: Progress) -> Path:
    """Download the archive of `item` into the empty folder `scratch` and check it.

    Raises `TestbedError` if the client fails or the archive is not the expected one.
    """
    arrived = scratch / "archive"
    arrived.mkdir()
    command, environment = _CLIENTS[item.registry](item, scratch)
    run(command, cwd=arrived, environment=environment, watch=scratch, progress=progress)
    found = [path for path in arrived.iterdir() if path.is_file()]
    if len(found) != 1:
        raise TestbedError(f"{command[0]} left {len(found)} files for {item.name}, not one archive")
    with found[0].open("rb") as file:
        digest = "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()
    if digest != item.hash:
        raise TestbedError(
            f"{item.package} {item.version} is not the catalogue's: {digest} instead of "
            f"{item.hash}; nothing was installed"
        )
    return found[0]


def run(
    command: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    watch: Path,
    progress: Progress,
) -> None:
    """Run a client to its end. If the call is interrupted, the client and its children are ended.

    Raises `TestbedError` with the last lines of the client's output.
    """
    with (
        (watch / "client.log").open("w+b") as said,
        subprocess.Popen(
            command,
            cwd=cwd,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as child,
    ):
        try:
            while True:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    child.wait(_LOOK_S)
                progress(_size(watch))
                if child.returncode is not None:
                    break
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            raise
        if child.returncode:
            said.seek(0)
            words = said.read().decode(errors="replace").strip().splitlines()
            why = " ".join(words[-4:]) or "it said nothing"
            raise TestbedError(f"{' '.join(command[:3])} ... failed: {why}")


def _size(folder: Path) -> int:
    total = 0
    for root, _, files in os.walk(folder):
        for name in files:
            with contextlib.suppress(FileNotFoundError):
                total += os.lstat(os.path.join(root, name)).st_size
    return total


_Client = tuple[list[str], dict[str, str]]


def _npm(item: Item, scratch: Path) -> _Client:
    spec = f"{item.package}@{item.version}"
    return ["npm", "pack", "--silent", *item.arguments, spec], {
        "npm_config_cache": str(scratch / "npm")
    }


def _pip(item: Item, scratch: Path) -> _Client:
    spec = f"{item.package}=={item.version}"
    plain = ["--no-deps", "--no-cache-dir", "--dest", str(scratch / "archive")]
    return ["pip3", "download", *plain, *item.arguments, spec], {"TMPDIR": str(scratch)}


_CLIENTS: Mapping[Registry, Callable[[Item, Path], _Client]] = {"npm": _npm, "pypi": _pip}
CLIENT_PROGRAMS: Mapping[Registry, Mapping[str, str]] = {
    "npm": {"npm": "npm"},
    "pypi": {"pip3": "python3-pip"},
    "go": {"go": "golang-go"},
    "maven": {"mvn": "maven"},
}
"""The programs of each registry's client, with the Debian package of each."""
