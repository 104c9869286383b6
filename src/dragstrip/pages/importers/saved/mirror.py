"""Reads a mirrored site: folders of hosts, as written by `wget -p` and HTTrack, or a single
host."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from msgspec import Struct, structs

from dragstrip.pages.format.recording import HTML, REFERRING, PageError, Recorded
from dragstrip.pages.importers.contents import Contents, RecordedNavigation
from dragstrip.pages.importers.crawls.links import links
from dragstrip.pages.importers.limits import Limits, Meter
from dragstrip.pages.importers.named import missing, text_of
from dragstrip.pages.importers.plain import read_plain
from dragstrip.pages.importers.saved.html_file import NOWHERE, UNTOLD, answer
from dragstrip.pages.importers.sentences import listed
from dragstrip.pages.importers.types import content_type

_HOST = re.compile(
    r"(?=.{3,255}$)(([a-z0-9_-]+\.)+[a-z][a-z0-9-]+|[0-9]{1,3}(\.[0-9]{1,3}){3})([:+][0-9]{1,5})?",
    re.IGNORECASE,
)
_PAGE = (".html", ".htm", ".xhtml")
_MADE = ("", ".php", ".asp", ".aspx", ".jsp")
"""Endings of file names in a host's folder that may be HTML files."""
_SCHEMES = ("https", "http")
"""Names of the folders that `wget --protocol-directories` makes."""


class _Place(Struct, frozen=True):
    """The address from which a file was mirrored."""

    scheme: str
    host: str
    path: str
    """Name of the file, with its query."""

    def url(self) -> str:
        path, mark, query = self.path.partition("?")
        if path.rpartition("/")[2] == "index.html":
            path = path.removesuffix("index.html")
        return f"{self._origin()}{_quoted(path)}{mark}{_quoted(query)}"

    def url_of(self, name: str) -> str:
        """Return the URL of a file, given its name in a converted link."""
        folder, slash, _ = self.path.rpartition("/")
        return f"{self._origin()}{_quoted(folder)}{slash}{name}"

    def _origin(self) -> str:
        return f"{self.scheme}://{self.host.replace('+', ':')}/"


def _quoted(text: str, safe: str = "/!$&'()*+,;=:@~%?") -> str:
    return quote(text, safe, errors="surrogateescape")


def is_mirror(folder: Path, files: Sequence[Path]) -> bool:
    """Return whether the folder has subfolders named like hosts, or HTML files."""
    beside = {_ending(f) for f in files if f.parent == folder}
    hosted = {_ending(f) for f in files if _hosted(f.relative_to(folder))}
    return not beside.isdisjoint(_PAGE) or not hosted.isdisjoint((*_PAGE, *_MADE))


def _ending(file: Path) -> str:
    return PurePosixPath(file.name.partition("?")[0]).suffix.lower()


def read_mirror(folder: Path, files: Sequence[Path], limits: Limits) -> Contents:
    """Return the content of the mirror's `files`, with their original URLs. Raises `PageError`.

    Links that were converted to lead from one host's folder to another's are converted back.
    """
    meter = Meter(limits)
    several = [f for f in files if _hosted(f.relative_to(folder))]
    beside = len(files) - len(several) if several else 0
    read = [(_place(f.relative_to(folder), folder), read_plain(f, meter)) for f in several or files]
    found, turned = _turned_back([p for p, _ in read], [_answer(p, body) for p, body in read])
    found = _asked_by_name([p for p, _ in read], found)
    exchanges = sorted(found, key=_first)
    starts = tuple(_starts(exchanges))
    if not starts:
        raise PageError(f"{folder} is a mirror without an HTML file; mirror the page again")
    hosts = {p.host for p, _ in read}
    changes = [UNTOLD]
    if turned:
        changes.append(
            f"links from one host's folder to another's were turned back in {turned} files"
        )
    if beside:
        changes.append(f"{beside} files beside the folders of hosts left out")
    if len(starts) == 1:
        changes += missing(exchanges, {x.url for x in exchanges})
    return Contents(
        source=f"a mirror of {listed(sorted(hosts))}",
        exchanges=exchanges,
        navigations=starts,
        changes=tuple(changes),
        by_name=len(starts) > 1,
    )


def _hosted(path: Path) -> bool:
    parts = path.parts[1:] if path.parts[0] in _SCHEMES else path.parts
    return len(parts) > 1 and bool(_HOST.fullmatch(parts[0]))


def _place(path: Path, folder: Path) -> _Place:
    if _hosted(path):
        scheme, parts = "https", path.parts
        if parts[0] in _SCHEMES:
            scheme, parts = parts[0], parts[1:]
        return _Place(scheme, parts[0].lower(), PurePosixPath(*parts[1:]).as_posix())
    name = folder.resolve().name
    host = name if _HOST.fullmatch(name) else NOWHERE.split("/")[2]
    return _Place("https", host.lower(), path.as_posix())


def _answer(place: _Place, body: bytes) -> Recorded:
    name = PurePosixPath(place.path).name
    return answer(place.url(), content_type(name, body), body)


def _turned_back(places: Sequence[_Place], found: list[Recorded]) -> tuple[list[Recorded], int]:
    """Return the answers with ``../HOST/`` in documents and style sheets replaced by the host's
    URL, and how many answers changed."""
    schemes = {p.host: p.scheme for p in places}
    if len(schemes) < 2:
        return found, 0
    names = "|".join(re.escape(h) for h in sorted(schemes, key=len, reverse=True))
    converted = re.compile(rf"(?<=[\"'(=\s,])(?:\.\./)+({names})/".encode())

    def original(match: re.Match[bytes]) -> bytes:
        host = match[1].decode()
        return f"{schemes[host]}://{host.replace('+', ':')}/".encode()

    made, turned = [], 0
    for one in found:
        body = converted.sub(original, one.wire) if one.mime in REFERRING else one.wire
        turned += body != one.wire
        made.append(structs.replace(one, wire=body))
    return made, turned


def _asked_by_name(places: Sequence[_Place], found: list[Recorded]) -> list[Recorded]:
    """Return additional answers whose path contains the query, as converted links request them."""
    text = "\n".join(text_of(x) for x in found if x.mime in REFERRING)
    made = []
    for place, one in zip(places, found, strict=True):
        name = PurePosixPath(place.path).name
        spelled = (_quoted(name, ""), _quoted(name, "=&+,;:@!$'()*~")) if "?" in name else ()
        asked = next((s for s in spelled if s in text), None)
        made.append(structs.replace(one, url=place.url_of(asked)) if asked else one)
    return made


def _first(exchange: Recorded) -> tuple[bool, int, str]:
    """Return a sort key that puts documents first, by the length of their URL."""
    return exchange.mime not in HTML, len(exchange.url), exchange.url


def _starts(exchanges: Sequence[Recorded]) -> Iterator[RecordedNavigation]:
    """Yield the documents that no other document has in a frame."""
    documents = [i for i, x in enumerate(exchanges) if x.mime in HTML]
    seen = {i: links(text_of(exchanges[i]), exchanges[i].url) for i in documents}
    framed = {url for one in seen.values() for url in one.framed}
    starts = [i for i in documents if exchanges[i].url not in framed] or documents[:1]
    for index in starts:
        every = range(len(exchanges))
        yield RecordedNavigation(
            url=exchanges[index].url,
            title=seen[index].title,
            exchanges=(index,) if len(starts) > 1 else [index, *(i for i in every if i != index)],
        )
