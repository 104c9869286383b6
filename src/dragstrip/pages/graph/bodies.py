"""Reads the bodies of a page file that can refer to other resources."""

import zipfile
from collections.abc import Iterator

from msgspec import Struct

from dragstrip.model.page import Page, Resource
from dragstrip.pages.format import har
from dragstrip.pages.format.archive import HAR_MEMBER
from dragstrip.pages.format.recording import REFERRING, header
from dragstrip.pages.format.sockets import is_socket


class Body(Struct, frozen=True, kw_only=True):
    resource: Resource
    location: str = ""
    """Target of a redirect, as written."""
    decoded: bytes = b""
    """Decoded body of a document or style sheet; empty for others."""
    wire: bytes = b""
    coding: str = ""
    upload_bytes: int = 0
    held: bool = False
    """Whether a script requests the resource late, see
    `dragstrip.pages.format.recording.Recorded.held`."""


def bodies(page: Page) -> Iterator[Body]:
    """Yield the bodies in the order of the page's resources; none for live pages."""
    if page.live:
        return
    with zipfile.ZipFile(page.path) as archive:
        every = har.decode(archive.read(HAR_MEMBER)).log.entries
        entries = [entry for entry in every if not is_socket(entry)]
        for resource, entry in zip(page.resources, entries, strict=True):
            headers = [(h.name, h.value) for h in entry.response.headers]
            text, coding = resource.mime in REFERRING, header(headers, "content-encoding")
            decoded, wire = entry.response.content.file, entry.response.dragstrip.wire_file
            body = archive.read(decoded) if text and decoded else b""
            yield Body(
                resource=resource,
                location=header(headers, "location"),
                decoded=body,
                wire=archive.read(wire) if text and wire else body,
                coding=coding.strip().lower() if wire else "",
                upload_bytes=max(entry.request.body_size, 0),
                held=entry.dragstrip.held,
            )
