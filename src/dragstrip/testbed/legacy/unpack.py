"""Unpacks members of a tar or zip archive into a folder."""

import shutil
import tarfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Protocol

import brotli

from dragstrip.testbed.errors import TestbedError

_CHUNK = 1 << 20


def unpack(archive: Path, members: Mapping[str, str], folder: Path) -> None:
    """Put `members` (see `Item.members`) below `folder`, each executable for everyone.

    Raises `TestbedError` if a member is missing.
    """
    with _open(archive) as opened:
        for member, path in members.items():
            if member.endswith("/"):
                inside = [n for n in opened.names() if n.startswith(member) and n[-1] != "/"]
                wanted = {name: f"{path}/{name.removeprefix(member)}" for name in inside}
            else:
                wanted = {member: path} if member in opened.names() else {}
            if not wanted:
                raise TestbedError(f"{archive.name} has no member {member}")
            for name, place in wanted.items():
                _write(opened.open(name), folder / place, decode=name.endswith(".br"))


class _Archive(Protocol):
    def names(self) -> list[str]: ...
    def open(self, name: str) -> IO[bytes]: ...


class _Tar:
    def __init__(self, tar: tarfile.TarFile) -> None:
        self._tar = tar

    def names(self) -> list[str]:
        return [m.name for m in self._tar.getmembers() if m.isreg()]

    def open(self, name: str) -> IO[bytes]:
        file = self._tar.extractfile(name)
        assert file  # only regular files have their names in `members`
        return file


class _Zip:
    def __init__(self, packed: zipfile.ZipFile) -> None:
        self._zip = packed
        self.names = packed.namelist

    def open(self, name: str) -> IO[bytes]:
        return self._zip.open(name)


@contextmanager
def _open(archive: Path) -> Iterator[_Archive]:
    try:
        if zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as packed:
                yield _Zip(packed)
        else:
            with tarfile.open(archive) as tar:
                yield _Tar(tar)
    except (tarfile.TarError, zipfile.BadZipFile, brotli.error) as error:
        raise TestbedError(f"{archive.name} cannot be unpacked: {error}") from None


def _write(source: IO[bytes], target: Path, *, decode: bool) -> None:
    if ".." in target.parts:
        raise TestbedError(f"the archive would write outside its folder: {target}")
    target.parent.mkdir(parents=True, exist_ok=True)
    with source, target.open("wb") as file:
        if decode:
            decoder = brotli.Decompressor()
            while chunk := source.read(_CHUNK):
                file.write(decoder.process(chunk))
        else:
            shutil.copyfileobj(source, file, _CHUNK)
    target.chmod(0o755)
