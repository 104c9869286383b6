"""Finds in a crawl where visits start, and which exchanges belong to each.

The recording's own data is used first: lists of pages, ids of pages, Sec-Fetch-Dest. Without such
data, a document is a start if an earlier document links to it and no document has it in a frame. A
document without link or Referer is a start if it came after a long pause, or if later requests name
it as their Referer and no request names an earlier start. Each exchange belongs to the start that
its Referer leads to, else to the latest start.
"""

from collections.abc import Sequence
from urllib.parse import urlsplit

from msgspec import Struct

from dragstrip.pages.format.recording import HTML, REDIRECTS, Headers, Recorded, header
from dragstrip.pages.format.spool import whole
from dragstrip.pages.format.urls import absolute
from dragstrip.pages.importers.contents import RecordedNavigation
from dragstrip.pages.importers.crawls.links import Links, links
from dragstrip.pages.importers.named import text_of

_PAUSE_S = 10.0
"""Seconds without a request after which a document without link or Referer counts as a start. Our
choice."""


_MOVES_S = 5.0
"""Seconds after its start within which a page may navigate by script or ``<meta>``. The value is
our choice."""


class _Seen(Struct, frozen=True, kw_only=True):
    """The signs that one exchange gives of its place in the crawl."""

    url: str
    referer: str
    dest: str
    """Value of Sec-Fetch-Dest; for requests of scripts it is ``empty`` too if other headers imply
    that."""
    page: str
    is_document: bool
    target: str
    """Target of a redirect; empty for other answers."""
    began: float
    ended: float
    """Time in s at which the exchange ended."""


class _Told(Struct, frozen=True, kw_only=True):
    """The pages that the recording lists."""

    by_url: dict[str, RecordedNavigation]
    by_id: dict[str, RecordedNavigation]

    def of(self, one: _Seen) -> RecordedNavigation | None:
        return self.by_id.get(one.page) or self.by_url.get(one.url)


def navigations(
    exchanges: Sequence[Recorded], told: Sequence[RecordedNavigation], pages: Sequence[str]
) -> tuple[RecordedNavigation, ...]:
    """Return the navigations of a crawl, in recorded order. `told` are the pages that the recording
    lists, and `pages` has the id of each exchange's page, empty for an exchange without page."""
    accepts = [header(x.request_headers, "accept").lower() for x in exchanges]
    by_browser = any("text/html" in a for a in accepts)
    seen = [
        _look(x, page, asks_html=not by_browser or not accept or "text/html" in accept)
        for x, page, accept in zip(exchanges, pages, accepts, strict=True)
    ]
    heads = _heads(seen)
    listed = _Told(
        by_url={one.url.partition("#")[0]: one for one in reversed(told)},
        by_id={one.id: one for one in told if one.id},
    )
    starts = _starts(exchanges, seen, heads, listed)
    owners = _owners(seen, heads, list(starts))
    members: dict[int, list[int]] = {start: [] for start in starts}
    for index, owner in enumerate(owners):
        if owner is not None:
            members[owner].append(index)
    made = []
    for start, title in starts.items():
        page = listed.of(seen[start]) or listed.of(seen[heads[start]])
        made.append(
            RecordedNavigation(
                url=exchanges[members[start][0]].url,
                title=(page.title if page else "") or title,
                id=(page.id if page else "") or seen[start].page,
                started=exchanges[start].started,
                exchanges=members[start],
            )
        )
    return tuple(made)


def _look(exchange: Recorded, page: str, *, asks_html: bool) -> _Seen:
    asked = exchange.request_headers
    redirects = exchange.status in REDIRECTS and exchange.method == "GET"
    began = exchange.started.timestamp()
    ahead = "prefetch" in header(asked, "sec-purpose") + header(asked, "purpose")
    by_script = header(asked, "x-requested-with") or not asks_html
    return _Seen(
        url=exchange.url.partition("#")[0],
        referer=header(asked, "referer").partition("#")[0],
        dest="empty" if ahead else _dest(asked) or ("empty" if by_script else ""),
        page=page,
        is_document=exchange.method == "GET"
        and 200 <= exchange.status < 300
        and exchange.mime in HTML,
        target=absolute(exchange.url, header(exchange.headers, "location")) if redirects else "",
        began=began,
        ended=began + exchange.time_ms / 1000,
    )


def _dest(asked: Headers) -> str:
    return header(asked, "sec-fetch-dest").lower()


def _heads(seen: Sequence[_Seen]) -> list[int]:
    """Return the index of the first redirect that led to each exchange; the exchange's own index if
    none did."""
    heads: list[int] = []
    leading: dict[str, int] = {}
    for index, one in enumerate(seen):
        before = leading.pop(one.url, None)
        heads.append(index if before is None else heads[before])
        if one.target:
            leading[one.target] = index
    return heads


def _starts(
    exchanges: Sequence[Recorded], seen: Sequence[_Seen], heads: Sequence[int], told: _Told
) -> dict[int, str]:
    """Return the titles of the documents that visits start at, by index."""
    signs = _Signs(seen, heads, told)
    starts: dict[int, str] = {}
    for index, one in enumerate(seen):
        found = _links(exchanges[index], one.url) if one.is_document else None
        if found is None:
            continue
        if signs.begins(index, first=not starts):
            starts[index] = found.title
            signs.begun(index)
        signs.linked |= found.linked
        signs.framed |= found.framed
    return starts or dict.fromkeys([i for i, one in enumerate(seen) if one.is_document][:1], "")


class _Signs:
    """Collects signs of how each document of a crawl was reached."""

    def __init__(self, seen: Sequence[_Seen], heads: Sequence[int], told: _Told) -> None:
        self.linked: set[str] = set()
        self.framed: set[str] = set()
        self._seen = seen
        self._heads = heads
        self._told = told
        self._pauses = _pauses(seen)
        self._taken: set[str] = set()
        self._last_named = {one.referer: index for index, one in enumerate(seen)}
        self._last_child = -1
        self._latest: _Seen | None = None

    def begins(self, index: int, *, first: bool) -> bool:
        one, head = self._seen[index], self._seen[self._heads[index]]
        if page := one.page or head.page:
            return page not in self._taken and (page in self._told.by_id or not self._told.by_id)
        if self._told.by_url and not {one.url, head.url}.isdisjoint(self._told.by_url):
            return one.url not in self._taken
        if head.dest or one.dest:
            return "document" in (head.dest, one.dest) and not self._moved_on(head)
        if first or head.url in self.framed:
            return first and not self._told.by_url
        if one.url in self._taken and not head.referer:
            return True  # the document was loaded again
        if head.url in self.linked or head.referer or self._told.by_url:
            return head.url in self.linked
        alone = self._last_named.get(one.url, -1) > index > self._last_child
        return alone or self._pauses[self._heads[index]] >= _PAUSE_S

    def _moved_on(self, head: _Seen) -> bool:
        """Return whether the latest start led to this document by a script or by ``<meta>``."""
        latest = self._latest
        return (
            latest is not None
            and head.referer == latest.url
            and head.url not in self.linked
            and head.began - latest.began < _MOVES_S
        )

    def begun(self, index: int) -> None:
        one = self._latest = self._seen[index]
        self._taken.add(one.page or self._seen[self._heads[index]].page or one.url)
        self._last_child = max(self._last_child, self._last_named.get(one.url, -1))


def _pauses(seen: Sequence[_Seen]) -> list[float]:
    """Return the time in s before each exchange during which no request was under way."""
    found, until = [], float("inf")
    for one in seen:
        found.append(one.began - until)
        until = one.ended if until == float("inf") else max(until, one.ended)
    return found


def _links(exchange: Recorded, url: str) -> Links | None:
    """Return the links of a document; None if it has no content."""
    return links(text_of(exchange), url) if whole(exchange).wire else None


def _owners(seen: Sequence[_Seen], heads: Sequence[int], starts: Sequence[int]) -> list[int | None]:
    """Return the index of the start that each exchange belongs to; None for an exchange that no
    page caused."""
    by_page = {seen[start].page: start for start in reversed(starts) if seen[start].page}
    by_start = {seen[start].url: start for start in reversed(starts)}
    first_of = {heads[start]: start for start in starts}
    owners: list[int | None] = []
    by_url: dict[str, int] = {}
    by_origin: dict[str, int] = {}
    latest: int | None = None
    for index, one in enumerate(seen):
        begins = first_of.get(heads[index])
        owner: int | None
        if begins is not None and index <= begins:
            owner = latest = by_origin[_origin(seen[begins].url)] = begins
        elif one.page and by_page:
            owner = by_page.get(one.page)
        else:
            owner = by_url.get(one.referer, by_start.get(one.referer))
            origin = _origin(one.referer)
            if owner is None or _is_cut(one.referer, one.url):
                owner = by_origin.get(origin, latest if owner is None else owner)
            if owner is None and one.target:
                owner = starts[0] if starts else None
        owners.append(owner)
        if owner is not None:
            by_url[one.url] = owner
    return owners


def _is_cut(referer: str, url: str) -> bool:
    """Return whether a browser may have cut the Referer down to its origin, as browsers do for
    requests to other origins."""
    origin = _origin(referer)
    return referer == f"{origin}/" and origin != _origin(url)


def _origin(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return f"{parts.scheme}://{parts.netloc}"
