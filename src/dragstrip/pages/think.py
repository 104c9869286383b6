"""Checks that pages have think times of their servers."""

import zipfile
from collections.abc import Iterable

from dragstrip.model.page import Page
from dragstrip.pages.format import har
from dragstrip.pages.format.archive import HAR_MEMBER
from dragstrip.pages.format.recording import PageError


def check_think_times(pages: Iterable[Page]) -> None:
    """Raise `PageError` for a page without a think time above 0. Its servers would answer at once,
    which a study with think times does not want."""
    for page in pages:
        if not page.live and not _has_think_times(page):
            raise PageError(
                f"think_time: page {page.name} says of no answer that its server took any time "
                f"({page.source}); import it with --think 80ms, record it with `page record`, or "
                "leave think_time out"
            )


def _has_think_times(page: Page) -> bool:
    with zipfile.ZipFile(page.path) as archive:
        log = har.decode(archive.read(HAR_MEMBER)).log
    return any(entry.dragstrip.think_ms for entry in log.entries)
