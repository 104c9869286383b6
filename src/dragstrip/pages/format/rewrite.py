"""Changes the HAR in a page file."""

import os
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from dragstrip.model.page import Page
from dragstrip.pages.format import har
from dragstrip.pages.format.archive import HAR_MEMBER, load_page
from dragstrip.pages.format.recording import PageError

Change = Callable[[har.Log, zipfile.ZipFile], tuple[har.Log, Mapping[str, bytes]]]
"""A change of a page file. It takes the HAR's log and the open file, and returns the new log and
additional bodies by member name. Members that the log no longer names are left out."""


def rewrite(page: Page, out: Path, change: Change) -> Page:
    """Write the page file with `change` to `out`, which may be the page itself. The file appears
    complete or not at all. Raises `PageError`."""
    unfinished = None
    try:
        handle, unfinished = tempfile.mkstemp(dir=out.parent, prefix=".page-")
        with (
            os.fdopen(handle, "wb") as file,
            zipfile.ZipFile(page.path) as old,
            zipfile.ZipFile(file, "w") as new,
        ):
            members = old.infolist()
            whole = har.decode(old.read(HAR_MEMBER))
            log, bodies = change(whole.log, old)
            text = har.encode(har.Har(log=log))
            new.writestr(zipfile.ZipInfo(HAR_MEMBER, members[0].date_time), text)
            named = set(_named(log))
            for member in members[1:]:
                if member.filename in named:
                    copy = zipfile.ZipInfo(member.filename, member.date_time)
                    new.writestr(copy, old.read(member))
            known = set(new.namelist())
            for name, body in bodies.items():
                if name not in known:
                    new.writestr(zipfile.ZipInfo(name, members[0].date_time), body)
        os.chmod(unfinished, 0o644)
        os.replace(unfinished, out)
        return load_page(out)
    except OSError as error:
        raise PageError(f"{out} cannot be written: {error.strerror or error}") from None
    finally:
        if unfinished:
            Path(unfinished).unlink(missing_ok=True)


def _named(log: har.Log) -> Iterator[str | None]:
    yield log.dragstrip.screenshot
    for entry in log.entries:
        yield entry.response.content.file
        yield entry.response.dragstrip.wire_file
