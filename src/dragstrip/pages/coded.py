"""Makes a copy of a page in another content coding, as a server that encodes bodies itself sends
it."""

import functools
import zipfile
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import structs

from dragstrip.model.coding import Coding, parse_coding
from dragstrip.model.page import Page
from dragstrip.pages.format import har
from dragstrip.pages.format.archive import SUFFIX, load_page, member_name
from dragstrip.pages.format.coding import encode
from dragstrip.pages.format.rewrite import rewrite
from dragstrip.pages.format.sockets import is_socket
from dragstrip.pages.graph.recoded import recoded
from dragstrip.pages.graph.store import learned_graph, with_graph


def coded(page: Page, compress: str, folder: Path) -> Page:
    """Return the page with bodies in the coding `compress`, a value of `Stack.compress`; the page
    itself if `compress` is empty.

    The new page file is kept in `folder` and made only once. The same page and coding give the same
    bytes. Raises `PageError`, and `ValueError` for an unknown coding.
    """
    if not compress or page.live:
        return page
    return _coded(page.path, page.digest, compress, folder)


@functools.lru_cache(maxsize=64)
def _coded(path: Path, digest: str, compress: str, folder: Path) -> Page:
    """Return the coded copy of the page file with that digest."""
    page, coding = load_page(path), parse_coding(compress)
    out = folder / f"{digest}-{compress.replace(':', '-')}{SUFFIX}"
    made = rewrite(page, out, functools.partial(_change, coding))
    graph = learned_graph(page)
    return with_graph(made, recoded(graph, page, made), out) if graph else made


def _change(
    coding: Coding, log: har.Log, archive: zipfile.ZipFile
) -> tuple[har.Log, Mapping[str, bytes]]:
    bodies: dict[str, bytes] = {}
    entries = tuple(_entry(entry, coding, archive, bodies) for entry in log.entries)
    return structs.replace(log, entries=entries), bodies


def _entry(
    entry: har.Entry, coding: Coding, archive: zipfile.ZipFile, bodies: dict[str, bytes]
) -> har.Entry:
    """Return the entry with its body in that coding. The coded body is added to `bodies`."""
    response = entry.response
    mime = response.content.mime_type.partition(";")[0].strip().lower()
    secure = urlsplit(entry.request.url).scheme == "https"
    name = coding.of(response.status, mime, response.content.size, secure=secure)
    if name is None or is_socket(entry):
        return entry
    headers = [h for h in response.headers if h.name.lower() != "content-encoding"]
    size, member = response.content.size, None
    if name and response.content.file:
        wire = encode(archive.read(response.content.file), name, coding.level)
        headers.append(har.Pair(name="content-encoding", value=name))
        size, member = len(wire), member_name(wire, mime)
        bodies[member] = wire
    changed = structs.replace(
        response,
        headers=tuple(headers),
        body_size=size,
        dragstrip=har.ResponseExtra(wire_file=member),
    )
    return structs.replace(entry, response=changed)
