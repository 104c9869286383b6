"""Parses the `link` header (RFC 8288 section 3), as far as it names resources to fetch in
advance."""

import re
from collections.abc import Iterable, Iterator
from urllib.parse import urljoin

from msgspec import Struct

_LINK = re.compile(r"<([^>]*)>([^<]*)")
_RELATIONS = re.compile(r'\brel\s*=\s*(?:"([^"]*)"|([^\s";,]+))', re.IGNORECASE)
_PRELOAD = frozenset({"preload", "modulepreload"})
_AHEAD = _PRELOAD | {"preconnect"}


class WebLink(Struct, frozen=True):
    target: str
    """The link's target as written; it may be relative."""
    parameters: str
    """The link's parameters as written, with the semicolon before them."""

    @property
    def relations(self) -> frozenset[str]:
        match = _RELATIONS.search(self.parameters)
        return frozenset((match[1] or match[2] or "").lower().split()) if match else frozenset()

    @property
    def value(self) -> str:
        """A header value that contains only this link."""
        return f"<{self.target}>{self.parameters}"


def links(values: Iterable[str]) -> Iterator[WebLink]:
    for value in values:
        for target, parameters in _LINK.findall(value):
            yield WebLink(target, parameters.rstrip(" \t,"))


def ahead(values: Iterable[str]) -> tuple[str, ...]:
    """Return the links that name a resource to fetch, or a host to connect to, in advance."""
    return tuple(link.value for link in links(values) if link.relations & _AHEAD)


def preloads(url: str, values: Iterable[str]) -> tuple[str, ...]:
    """Return the URLs that an answer to `url` with these links asks a browser to fetch in
    advance."""
    preloaded = (link for link in links(values) if link.relations & _PRELOAD)
    return tuple(urljoin(url, link.target) for link in preloaded)
