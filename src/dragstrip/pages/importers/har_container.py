"""Opens a HAR in any container: plain, .gz or .zst; a .har.zip with its bodies; or a file whose
bodies are other files in its folder, as Playwright's `attach` writes them."""

import os
import zipfile
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from dragstrip.pages.format.recording import PageError, one_line
from dragstrip.pages.format.zips import BAD_ZIP
from dragstrip.pages.importers.har_json import HarFlaw, Part, parse_log
from dragstrip.pages.importers.limits import SMALL, Limits, Meter, check_ratio
from dragstrip.pages.importers.plain import BAD_PACKING, plain_file, unfit, unpacked

HARS = (".har", ".har.gz", ".har.zst", ".har.zip")
"""File name endings of HARs."""


class Missing(Exception):
    """Raised if a body is not in the place that the HAR names; the text says why."""


class HarBodies:
    """Bodies that are stored outside the JSON."""

    def __init__(self, path: Path, meter: Meter) -> None:
        self._path = path
        self._meter = meter
        self.is_archive = path.name.lower().endswith(".zip")

    def read(self, name: str) -> bytes:
        """Read a body's file. Raises `Missing`, or `PageError` beyond a limit."""
        try:
            if self.is_archive:
                with plain_file(self._path) as file, zipfile.ZipFile(file) as archive:
                    return read_member(archive, name, self._meter)
            with plain_file(beside(self._path, name)) as opened:
                self._meter.unpacked(os.fstat(opened.fileno()).st_size)
                return opened.read()
        except KeyError:
            raise Missing("the archive does not hold them") from None
        except BAD_ZIP as error:
            raise Missing(f"the archive is damaged ({error})") from None


class OpenHar(NamedTuple):
    log: Part
    bodies: HarBodies


def open_har(path: Path, limits: Limits) -> OpenHar:
    """Open a HAR. Raises `PageError`, which names the file and what to do."""
    meter = Meter(limits)
    try:
        return OpenHar(parse_log(_text(path, meter)), HarBodies(path, meter))
    except HarFlaw as error:
        raise PageError(f"{path} is not a HAR: {error}; export it again") from None
    except PageError as error:
        said = str(error)
        raise PageError(said if str(path) in said else f"{path}: {said}") from None
    except (*BAD_PACKING, *BAD_ZIP, KeyError) as error:
        raise PageError(f"{path} cannot be read: {error}; export it again") from None


def is_page_file(path: Path) -> bool:
    """Return whether a ``.har.zip`` is one of our page files and not another program's HAR.

    An unreadable file counts as ours, because our loader gives the best error.
    """
    try:
        return "_dragstrip" in open_har(path, Limits()).log
    except PageError:
        return True


def beside(path: Path, name: str) -> Path:
    """Return the file that a HAR in a folder names. Raises `Missing` if it is outside the
    folder."""
    inside = PurePosixPath(name)
    if inside.is_absolute() or ".." in inside.parts or "\0" in name:
        raise Missing("their names lead out of the HAR's folder")
    found = path.parent / inside
    if not found.is_symlink() and not found.exists():
        raise Missing("they should lie beside the HAR")
    if reason := unfit(found, path.parent.resolve()):
        raise Missing(reason.replace("it is", "they are").replace("the folder", "the HAR's folder"))
    return found


def attached(path: Path) -> list[Path]:
    """Return the files in a HAR's folder that hold its bodies, as far as they can be read."""
    found = []
    try:
        log, bodies = open_har(path, Limits())
    except PageError:
        return []
    for entry in log.parts("entries"):
        name = entry.part("response").part("content").text("_file")
        if name and not bodies.is_archive:
            try:
                found.append(beside(path, name))
            except Missing:
                continue
    return list(dict.fromkeys(found))


def read_member(archive: zipfile.ZipFile, name: str, meter: Meter) -> bytes:
    """Read a member of a zip. Raises `PageError`, `KeyError`, and `zipfile`'s exceptions for a
    damaged archive."""
    info = archive.getinfo(name)
    check_ratio(info.compress_size, info.file_size, one_line(name), meter.limits)
    meter.unpacked(info.file_size)
    return archive.read(name)


def _text(path: Path, meter: Meter) -> bytes:
    with plain_file(path) as file:
        if path.name.lower().endswith(".zip"):
            with zipfile.ZipFile(file) as archive:
                name = next((n for n in archive.namelist() if n.lower().endswith(".har")), None)
                if name is None:
                    raise ValueError("the archive holds no .har")
                return read_member(archive, name, meter)
        stream, parts = unpacked(file, meter), []
        while part := stream.read(SMALL):
            parts.append(part)
        return b"".join(parts)
