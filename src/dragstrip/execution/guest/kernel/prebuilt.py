"""Packs a built kernel into an archive, and installs one, so that others need not build it.

The archive holds the kernel, its configuration, our changes, its licence, and the address of its
sources. Under the GPL, a site that offers the archive must offer these sources, too.
"""

import io
import subprocess
import tarfile
from pathlib import Path

from dragstrip.execution.guest.kernel.recipe import PACKAGE, SUITE, digest, name_of, root
from dragstrip.model.errors import InputError
from dragstrip.testbed.cache import unfinished

FILES = ("linux", "config", "rules.toml", "COPYING")
_SOURCES = """\
This is Linux {version}, built as user-mode Linux (make ARCH=um) for dragstrip's virtual time.

It is licensed under the GPL, version 2 (COPYING). Its sources are the Debian package {package}
({suite}), changed as rules.toml says and configured as in config. Whoever passes on this archive
must offer that package beside it. To build the same kernel: dragstrip virtual install
"""
_LIMIT = 200_000_000
"""Largest file in an archive, in bytes."""


def pack(kernel: Path, archive: Path) -> None:
    """Write a kernel that this version's recipe built to `archive` (.tar.xz). The same kernel
    always gives the same bytes."""
    folder = kernel.parent
    text = _SOURCES.format(version=name_of(kernel).split("-")[1], package=PACKAGE, suite=SUITE)
    contents = {name: (folder / name).read_bytes() for name in FILES} | {"SOURCES": text.encode()}
    scratch = archive.with_name(f"{archive.name}.unfinished")
    try:
        with tarfile.open(scratch, "w:xz") as tar:
            for name, content in contents.items():
                member = tarfile.TarInfo(f"{folder.name}/{name}")
                member.size, member.mode = len(content), 0o755 if name == "linux" else 0o644
                tar.addfile(member, io.BytesIO(content))
        scratch.rename(archive)
    finally:
        scratch.unlink(missing_ok=True)


def take(archive: Path) -> Path:
    """Install the kernel from an archive that `pack` wrote; returns its path.

    Raises `InputError` if the archive holds no kernel, if another recipe than this version's built
    it, or if the kernel does not run here. The kernel's folder is complete or does not exist, even
    after an error.
    """
    try:
        with tarfile.open(archive) as tar:
            members = {m.name: m for m in tar if m.isfile() and m.size <= _LIMIT}
            folder = next((n.split("/")[0] for n in members if n.endswith("/linux")), "")
            if any(f"{folder}/{name}" not in members for name in FILES):
                raise InputError(f"{archive} is no kernel that `dragstrip virtual pack` wrote")
            if not folder.endswith(f"-{digest()}") or "/" in folder:
                raise InputError(
                    f"{archive} holds {folder}, and this version needs one that ends in "
                    f"-{digest()}: get that one, or build it (dragstrip virtual install)"
                )
            contents = {name: _read(tar, members[f"{folder}/{name}"]) for name in FILES}
    except (tarfile.TarError, EOFError, OSError) as error:
        raise InputError(f"{archive} cannot be read: {error}") from None
    with unfinished(root()) as scratch:
        unpacked = scratch / "made"
        unpacked.mkdir()
        for name, content in contents.items():
            (unpacked / name).write_bytes(content)
        (unpacked / "linux").chmod(0o755)
        if not _runs(unpacked / "linux"):
            raise InputError(f"the kernel of {archive} does not run on this machine")
        unpacked.chmod(0o755)
        if not (root() / folder).exists():
            unpacked.rename(root() / folder)
    return root() / folder / "linux"


def _read(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = tar.extractfile(member)
    return file.read() if file else b""


def _runs(kernel: Path) -> bool:
    try:
        return not subprocess.run([kernel, "--version"], capture_output=True, timeout=30).returncode
    except (OSError, subprocess.TimeoutExpired):
        return False
