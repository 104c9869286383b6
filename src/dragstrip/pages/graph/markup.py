"""Finds the references in a document's markup, and the byte at which a browser finds each."""

import re
from collections.abc import Iterator
from contextlib import suppress
from html.parser import HTMLParser
from itertools import accumulate
from typing import Literal

from msgspec import Struct

from dragstrip.pages.format.urls import absolute
from dragstrip.pages.graph.sheets import imports, references

Embedding = Literal[
    "script", "async", "defer", "style", "image", "lazy", "frame", "preload", "import", "other"
]
"""How an element embeds a resource. The parser waits for `script`; scripts and painting wait for
`style`; `lazy` is an image or frame that waits for layout."""


class Reference(Struct, frozen=True):
    url: str
    """The absolute URL."""
    at: int
    """Number of bytes of the document, without content encoding, up to the end of the tag."""
    way: Embedding
    anonymous: bool = False
    """Whether the request to another origin carries no credentials, because of `crossorigin` or
    because it is for a module."""


class Inline(Struct, frozen=True):
    """Byte offsets of an inline script's text within the document."""

    start: int
    end: int


class Markup(Struct, frozen=True):
    references: tuple[Reference, ...] = ()
    """References in document order."""
    inline: tuple[Inline, ...] = ()
    body: int = 0
    """Byte offset of the body; the document's length if it has none."""
    length: int = 0

    def blocking(self, at: int) -> Iterator[Reference]:
        """Yield the references that must have arrived before the parser can pass byte `at`: scripts
        before it, and style sheets before any of those scripts."""
        scripts = [r.at for r in self.references if r.way == "script" and r.at < at]
        scripts += [i.end for i in self.inline if i.end <= at]
        last = max(scripts, default=0)
        for reference in self.references:
            script = reference.way == "script" and reference.at < at
            if script or (reference.way in ("style", "import") and reference.at < last):
                yield reference


def read_markup(body: bytes, url: str) -> Markup:
    """Return the markup of the document at `url`. The function terminates for any bytes."""
    reader = _Reader(body, url)
    with suppress(AssertionError):  # the parser gives up with it at some ``<![``
        reader.feed(body.decode("latin-1"))  # latin-1, so that each character is one byte
        if len(reader.rawdata) <= _MOST_REST:
            reader.close()
    found = tuple(sorted(reader.references, key=lambda r: r.at))
    return Markup(found, tuple(reader.inline), reader.body or len(body), len(body))


_MOST_REST = 10_000
"""Most characters that are parsed after an unterminated tag, comment or script. The parser would
take time quadratic in their length, and a browser drops them."""
_IMAGES = {
    "img": ("src", "srcset"),
    "source": ("src", "srcset"),
    "video": ("src", "poster"),
    "audio": ("src",),
    "input": ("src",),
    "body": ("background",),
    "image": ("href", "xlink:href"),
    "track": ("src",),
}
_FRAMES = {"iframe": "src", "frame": "src", "embed": "src", "object": "data"}
_SCRIPT_TYPES = re.compile(r"|module|(text|application)/(x-)?(java|ecma)script", re.I)
_HIDDEN = ("noscript", "template")


class _Reader(HTMLParser):
    def __init__(self, body: bytes, url: str) -> None:
        super().__init__(convert_charrefs=False)
        self._lines = [0, *accumulate(len(line) + 1 for line in body.split(b"\n"))]
        self._base = url
        self._hidden = 0
        self._text: Literal["", "script", "style"] = ""
        self.references: list[Reference] = []
        self.inline: list[Inline] = []
        self.body = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _HIDDEN:
            self._hidden += 1
        if self._hidden:
            return
        given = {name: value or "" for name, value in reversed(attrs)}
        lazy = given.get("loading", "").lower() == "lazy"
        end = self._here() + len(self.get_starttag_text() or "")
        if tag == "base" and given.get("href"):
            self._base = absolute(self._base, given["href"]) or self._base
        elif tag == "body":
            self.body = self.body or end
        elif tag == "script":
            self._script(given, end)
        elif tag == "link":
            self._link(given, end)
        elif tag == "style":
            self._text = "style"
        elif tag in _FRAMES:
            self._add(given.get(_FRAMES[tag], ""), end, "lazy" if lazy else "frame")
        if tag in _IMAGES:
            for name in _IMAGES[tag]:
                many = name == "srcset"
                for one in _candidates(given.get(name, "")) if many else [given.get(name, "")]:
                    self._add(one, end, "lazy" if lazy else "image", _anonymous(given))
        if "url(" in given.get("style", ""):
            for one in references(given["style"]):
                self._add(one, end, "image")

    def handle_endtag(self, tag: str) -> None:
        if tag in _HIDDEN and self._hidden:
            self._hidden -= 1
        if tag in ("script", "style"):
            self._text = ""

    def handle_data(self, data: str) -> None:
        start = self._here()
        if self._text == "script" and data.strip():
            self.inline.append(Inline(start, start + len(data)))
        elif self._text == "style":
            for one in imports(data):
                self._add(one, start + len(data), "import")
            for one in references(data):
                self._add(one, start + len(data), "other")

    def _script(self, given: dict[str, str], end: int) -> None:
        kind = given.get("type", "").strip()
        if not _SCRIPT_TYPES.fullmatch(kind):
            return
        if "src" not in given:
            self._text = "script"
            return
        if "nomodule" in given:
            return
        module = kind.lower() == "module"
        later = "defer" in given or module
        way: Embedding = "async" if "async" in given else "defer" if later else "script"
        self._add(given["src"], end, way, _anonymous(given, by_default=module))

    def _link(self, given: dict[str, str], end: int) -> None:
        rel = given.get("rel", "").lower().split()
        if "stylesheet" in rel and "alternate" not in rel and "disabled" not in given:
            print_only = given.get("media", "").strip().lower() in ("print", "speech", "not all")
            way: Embedding = "other" if print_only else "style"
            self._add(given.get("href", ""), end, way, _anonymous(given))
        elif "preload" in rel or "modulepreload" in rel:
            module = "modulepreload" in rel
            self._add(given.get("href", ""), end, "preload", _anonymous(given, by_default=module))
        elif rel:
            self._add(given.get("href", ""), end, "other")

    def _add(self, url: str, at: int, way: Embedding, anonymous: bool = False) -> None:
        found = absolute(self._base, url.strip()) if url.strip() else ""
        if found.startswith(("https:", "http:")):
            self.references.append(Reference(found, at, way, anonymous))

    def _here(self) -> int:
        line, column = self.getpos()
        return self._lines[line - 1] + column


def _anonymous(given: dict[str, str], *, by_default: bool = False) -> bool:
    """Return whether `crossorigin` means no credentials (HTML, section 2.5.5): any value but
    use-credentials does."""
    if "crossorigin" not in given:
        return by_default
    return given["crossorigin"].strip().lower() != "use-credentials"


_CANDIDATE = re.compile(r"[\s,]*([^\s,]\S*)")


def _candidates(srcset: str) -> list[str]:
    """Return the URLs in a srcset (HTML, section 4.8.4.2.1). Visits show which one is used."""
    found, at = [], 0
    while one := _CANDIDATE.match(srcset, at):
        url = one[1].rstrip(",")
        found.append(url)
        # A URL without a comma at its end is followed by a descriptor.
        at = one.end() if url != one[1] else srcset.find(",", one.end()) % (len(srcset) + 1)
    return found
