"""Finds the URLs that documents and style sheets of a recording make a browser fetch."""

from collections.abc import Collection, Iterable, Iterator
from urllib.parse import quote

from dragstrip.pages.format.coding import CodingError, TooLong, decode
from dragstrip.pages.format.recording import HTML, Recorded, header
from dragstrip.pages.format.spool import whole
from dragstrip.pages.format.urls import URL_CHARACTERS, absolute
from dragstrip.pages.graph.markup import Embedding, read_markup
from dragstrip.pages.graph.sheets import imports, references
from dragstrip.pages.importers.limits import SMALL
from dragstrip.pages.importers.sentences import listed
from dragstrip.pages.importers.types import with_charset


def named(exchange: Recorded) -> Iterator[tuple[str, Embedding]]:
    """Yield the named URLs, absolute and without fragments, with how each is embedded."""
    if exchange.mime == "text/css":
        sheet = text_of(exchange)
        for written in (*imports(sheet), *references(sheet)):
            yield _spelled(absolute(exchange.url, written)), "import"
    elif exchange.mime in HTML:
        # The reader treats each byte as a character.
        for reference in read_markup(text_of(exchange).encode(), exchange.url).references:
            url = reference.url.encode("latin-1", "replace").decode("utf-8", "replace")
            yield _spelled(url), reference.way


def _spelled(url: str) -> str:
    """Return the URL as a browser writes it in a request."""
    return url if url.isascii() else quote(url, URL_CHARACTERS)


def missing(exchanges: Iterable[Recorded], known: Collection[str]) -> list[str]:
    """Return a sentence on the named URLs that are not in `known`; an empty list if there are
    none."""
    found = {
        url: None
        for exchange in exchanges
        for url, way in named(exchange)
        if url and way != "other" and url not in known
    }
    if not found:
        return []
    return [
        f"warning: its documents and style sheets name {len(found)} files that are not there: "
        f"{listed(list(found))}"
    ]


def text_of(exchange: Recorded) -> str:
    """Return the body as text, as a browser reads it; empty if the body is too long."""
    full = whole(exchange)
    try:
        body = decode(full.wire, full.coding, SMALL)
    except CodingError:
        body = full.wire
    except TooLong:
        return ""
    said = header(exchange.headers, "content-type") or exchange.mime
    if "charset=" not in said.lower():
        said = with_charset(exchange.mime, body)
    charset = said.lower().partition("charset=")[2].partition(";")[0].strip(" \"'") or "utf-8"
    try:
        return body.decode(charset, "replace").removeprefix("\ufeff")
    except (LookupError, ValueError):  # no charset, or one of Python's that is no charset of text
        return body.decode("utf-8", "replace")
