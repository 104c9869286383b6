"""Reads a folder: WARC files of a crawl, a Mahimahi recording, or a mirror of a site."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import structs

from dragstrip.pages.format.recording import PageError
from dragstrip.pages.importers.contents import Contents, RecordedNavigation
from dragstrip.pages.importers.crawls.mitmproxy import ENDINGS as FLOW_ENDINGS
from dragstrip.pages.importers.crawls.wacz import ENDING as WACZ_ENDING
from dragstrip.pages.importers.crawls.wacz import PAGE_LISTS, read_pages
from dragstrip.pages.importers.crawls.warc import ENDINGS, read_warcs
from dragstrip.pages.importers.har_container import HARS
from dragstrip.pages.importers.limits import DEFAULT, Limits, Meter
from dragstrip.pages.importers.plain import plain_file, plain_files
from dragstrip.pages.importers.saved.mhtml import ENDINGS as MHTML_ENDINGS
from dragstrip.pages.importers.saved.mirror import is_mirror, read_mirror
from dragstrip.pages.importers.sentences import listed

_PAGES = (*HARS, *MHTML_ENDINGS, *FLOW_ENDINGS, WACZ_ENDING)


def read_folder(folder: Path, limits: Limits = DEFAULT) -> Contents:
    """Return the combined content of a folder's files. Raises `PageError`."""
    files, said = plain_files(folder, limits)
    if warcs := [f for f in files if f.name.lower().endswith(ENDINGS)]:
        return _with(read_warcs(warcs, limits, _told(files, limits)), said)
    if is_mirror(folder, files):
        return _with(read_mirror(folder, files, limits), said)
    here = [f for f in files if f.parent == folder]
    if several := [f.name for f in here if f.name.lower().endswith(_PAGES)]:
        raise PageError(f"{folder} holds recordings of their own; give one: {listed(several)}")
    if here:
        from dragstrip.pages.importers.mahimahi import read_mahimahi  # loads slowly

        return _with(read_mahimahi(folder, here, limits), said)
    raise PageError(f"{folder} {_empty(folder, files)}")


def _told(files: Sequence[Path], limits: Limits) -> list[RecordedNavigation]:
    """Return the pages listed in the folder of an unpacked WACZ."""
    lists = [f for f in files if f.parent.name == "pages" and f.name in PAGE_LISTS]
    told: list[RecordedNavigation] = []
    for file in lists:
        with plain_file(file) as opened:
            told += read_pages(opened, str(file), Meter(limits))
    return told


def _with(contents: Contents, said: Sequence[str]) -> Contents:
    return structs.replace(contents, changes=(*contents.changes, *said))


def _empty(folder: Path, files: Sequence[Path]) -> str:
    inner = sorted({f.relative_to(folder).parts[0] for f in files})
    if inner:
        return f"holds only folders; give the one with the recording: {listed(inner)}"
    if any(folder.iterdir()):
        return "holds no plain file that can be read; give a folder with a recording"
    return "is empty; give a folder with a recording"
