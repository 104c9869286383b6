"""A HAR without bodies becomes the structure of a page."""

import re
from collections import Counter
from collections.abc import Sequence
from urllib.parse import urljoin

from msgspec import Struct, structs

from dragstrip.pages.format.recording import REDIRECTS, Headers, PageError, header, one_line
from dragstrip.pages.format.structure import Object, ResourceKind, Structure
from dragstrip.pages.format.urls import Unservable, servable
from dragstrip.pages.importers.har_file import HarExchange, Visited
from dragstrip.pages.importers.initiators import Cause, Clues, causes
from dragstrip.pages.importers.wiresize import WireSize, wire_size

_TYPES: dict[str, ResourceKind] = {
    "document": "document",
    "iframe": "document",
    "frame": "document",
    "stylesheet": "style",
    "style": "style",
    "script": "script",
    "image": "image",
    "font": "font",
    "xhr": "fetch",
    "fetch": "fetch",
    "empty": "fetch",
    "ping": "fetch",
    "media": "fetch",
    "video": "fetch",
    "audio": "fetch",
}
"""Chromium's resource types and the values of Sec-Fetch-Dest."""
_ACCEPTS: tuple[tuple[str, ResourceKind], ...] = (
    ("text/html", "document"),
    ("text/css", "style"),
    ("image/", "image"),
)
_MIMES: tuple[tuple[str, ResourceKind], ...] = (
    ("text/css", "style"),
    ("image/", "image"),
    ("font", "font"),
    ("html", "document"),
    ("javascript", "script"),
    ("ecmascript", "script"),
)
_FONT_URL = re.compile(r"\.(woff2?|ttf|otf|eot)$", re.IGNORECASE)
_NOT_SENT = re.compile(
    "content-(encoding|type|length|security-policy.*|disposition)|set-cookie2?|link|refresh|status"
    "|x-frame-options|x-content-type-options|cross-origin-.*|access-control-.*|clear-site-data"
    "|timing-allow-origin|location|vary|www-authenticate|permissions-policy|feature-policy"
    "|(expect|public-key)-.*|reporting-endpoints|report-to|nel|sourcemap|x-sourcemap",
    re.IGNORECASE,
)
"""Headers that would keep a made-up page from loading, or that describe what is made up."""
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD")
_MOST_BUSY_MS = 500.0
_NAMED = 12


class _Kept(Struct, frozen=True, kw_only=True):
    """An exchange that will be part of the page."""

    exchange: HarExchange
    url: str
    target: str
    """Where a redirect leads, as served; empty if nowhere."""
    preflighted: bool = False


def skeleton(
    visited: Visited, name: str, source: str, *, busy: bool = False, keep_http: bool = False
) -> Structure:
    """The structure of what was recorded up to the load event. Raises `PageError`.

    With `busy`, each script keeps the browser busy from its arrival for as long as it recorded took
    until the first request it caused.
    """
    changes: list[str] = []
    kept = _servable(visited.exchanges, changes, keep_http=keep_http)
    kept = _joined(_before_load(kept, visited, changes), changes)
    kinds = [_kind(k) for k in kept]
    follows = _redirects(kept)
    root = _start(kinds, follows)
    if root is None:
        raise PageError("no document was answered before the load event; export the HAR again")
    for index in reversed(range(len(kept))):
        if (before := follows[index]) is not None:
            kinds[before] = kinds[index]
    seen = zip(kept, kinds, follows, strict=True)
    why = causes([_seen(*row, keep_http=keep_http) for row in seen], root)
    sizes = [wire_size(k.exchange) for k in kept]
    changes += _explained(kept, sizes, why)
    leading = {before for before in follows if before is not None}
    objects = [
        _object(k, kind, follow, cause, size, led=i in leading)
        for i, (k, kind, follow, cause, size) in enumerate(
            zip(kept, kinds, follows, why, sizes, strict=True)
        )
    ]
    if busy:
        objects = _busied(objects, kept)
    return Structure(
        name=name,
        title=visited.title or name,
        source=source,
        changes=tuple(changes),
        objects=tuple(objects),
    )


def _servable(
    exchanges: Sequence[HarExchange], changes: list[str], *, keep_http: bool
) -> list[_Kept]:
    kept, insecure = [], 0
    left_out: Counter[str] = Counter()
    for exchange in exchanges:
        try:
            url = servable(exchange.url, keep_http=keep_http)
            if not 200 <= exchange.status <= 599:
                raise Unservable(f"status {exchange.status} is not a final answer")
            if exchange.method not in (*_METHODS, "OPTIONS"):
                raise Unservable("a page cannot ask for it")
        except Unservable as error:
            what = one_line(f"{exchange.method} {exchange.url}")
            left_out[f"{what} left out: {error}"] += 1
            continue
        insecure += exchange.url.lower().startswith("http:")
        target = _target(exchange, keep_http=keep_http)
        kept.append(_Kept(exchange=exchange, url=url, target=target))
    changes += [s if n == 1 else f"{s} ({n} times)" for s, n in left_out.items()]
    if insecure and not keep_http:
        changes.append(f"{insecure} of {len(kept)} URLs were http:// and are served as https")
    return kept


def _target(exchange: HarExchange, *, keep_http: bool) -> str:
    if exchange.status not in REDIRECTS or not exchange.location:
        return ""
    try:
        return servable(urljoin(exchange.url, exchange.location), keep_http=keep_http)
    except ValueError:
        return ""


def _before_load(kept: list[_Kept], visited: Visited, changes: list[str]) -> list[_Kept]:
    """What began before the load event, including what came from a cache."""
    end = visited.load_ms
    late = [k.url for k in kept if end is not None and k.exchange.start_ms > end]
    kept = [k for k in kept if end is None or k.exchange.start_ms <= end]
    if end is None:
        changes.append("the recording does not say when the page was loaded: all of it is kept")
    elif late:
        changes.append(
            f"{len(late)} requests left out that began after the load event at {end:.0f} ms: "
            f"{_listed(late)}"
        )
    if cached := [k.url for k in kept if k.exchange.cached]:
        changes.append(
            f"{len(cached)} of {len(kept)} answers came from a cache and are fetched like the "
            f"rest: {_listed(cached)}"
        )
    return kept


def _listed(urls: list[str]) -> str:
    more = len(urls) - _NAMED
    shown = ", ".join(u[:120] for u in urls[:_NAMED])
    return f"{shown} and {more} more" if more > 0 else shown


def _joined(kept: list[_Kept], changes: list[str]) -> list[_Kept]:
    """Without the redirects from http to its own https URL and without preflights.

    The browser makes preflights by itself, for the requests that need one.
    """
    wanted = {k.url for k in kept if k.exchange.method == "OPTIONS"}
    result = []
    for item in kept:
        if item.exchange.method == "OPTIONS":
            continue
        if item.target == item.url and item.exchange.url.lower().startswith("http:"):
            changes.append(f"{item.exchange.url} left out: it only redirected to its https URL")
            continue
        result.append(structs.replace(item, preflighted=item.url in wanted))
    alone = wanted - {k.url for k in result}
    changes += [f"OPTIONS {u} left out: the request it asked leave for is not there" for u in alone]
    return result


def _kind(kept: _Kept) -> ResourceKind:
    """How the browser asked for it: as it reports, else from its Accept header, else from the
    answer."""
    return "fetch" if kept.preflighted else kind_of(kept.exchange)


def kind_of(exchange: HarExchange) -> ResourceKind:
    """The same for a request without a preflight."""
    if exchange.method != "GET":
        return "fetch"
    said = exchange.resource_type or header(exchange.request_headers, "sec-fetch-dest").lower()
    if kind := _TYPES.get(said):
        return kind
    accept = header(exchange.request_headers, "accept").lower()
    for start, kind in _ACCEPTS:
        if accept.startswith(start):
            return kind
    if _FONT_URL.search(exchange.url.partition("?")[0]):
        return "font"
    for part, kind in _MIMES:
        if part in exchange.mime:
            # Scripts are loaded with Accept: */*, and so is what scripts fetch.
            return "fetch" if kind == "document" and accept.startswith("*/*") else kind
    return "fetch"


def _redirects(kept: list[_Kept]) -> list[int | None]:
    """For each request the redirect it follows, if it follows one."""
    follows: list[int | None] = [None] * len(kept)
    for index, item in enumerate(kept):
        if not item.target:
            continue
        for later in range(index + 1, len(kept)):
            if kept[later].url == item.target and follows[later] is None:
                follows[later] = index
                break
    return follows


def _start(kinds: list[ResourceKind], follows: list[int | None]) -> int | None:
    """The document the visit's first request leads to; redirects may stand before it."""
    at = 0
    for index, before in enumerate(follows):
        if before is not None and before == at:
            at = index
    return at if kinds and kinds[at] == "document" else None


def _seen(kept: _Kept, kind: ResourceKind, follows: int | None, *, keep_http: bool) -> Clues:
    exchange = kept.exchange
    return Clues(
        url=kept.url,
        kind=kind,
        start_ms=exchange.start_ms,
        end_ms=exchange.end_ms,
        initiator=_served(exchange.initiator, keep_http=keep_http),
        referer=_served(header(exchange.request_headers, "referer"), keep_http=keep_http),
        follows=follows,
    )


def _served(url: str, *, keep_http: bool) -> str:
    try:
        return servable(url, keep_http=keep_http) if url else ""
    except Unservable:
        return ""


def _explained(kept: list[_Kept], sizes: list[WireSize], why: list[Cause]) -> list[str]:
    """Counts of the changes to sizes, causes and requests."""
    fields = Counter(s.field for s in sizes if s.field != "nothing")
    said = ", ".join(f"{field} {n}" for field, n in fields.most_common())
    changes = [f"sizes on the wire are taken from: {said or 'nothing, all bodies are empty'}"]
    if inferred := sum(c.inferred for c in why):
        changes.append(
            f"{inferred} of {len(why)} initiators are inferred, by Referer and times, because the "
            "recording names none"
        )
    if waits := sum(c.parent != c.initiator for c in why):
        changes.append(
            f"{waits} requests wait for what ended last before they began, because their initiator "
            "had ended long before"
        )
    if again := sum(k.exchange.status in (206, 304) for k in kept):
        changes.append(f"{again} answers with status 206 or 304 are served whole, with status 200")
    return changes


def _object(
    kept: _Kept, kind: ResourceKind, follows: int | None, cause: Cause, size: WireSize, *, led: bool
) -> Object:
    exchange = kept.exchange
    return Object(
        url=kept.url,
        kind=kind,
        size=size.size,
        method=exchange.method,
        status=200 if exchange.status in (206, 304) else exchange.status,
        status_text=exchange.status_text,
        http_version=exchange.http_version,
        content_type=header(exchange.headers, "content-type") or exchange.mime,
        headers=_sent(exchange.headers),
        parent=cause.parent,
        initiator=cause.initiator,
        inferred=cause.inferred,
        follows=follows,
        location=kept.target if led else "",
        upload=exchange.upload_bytes,
        preflighted=kept.preflighted,
        blocking=exchange.priority not in ("Low", "VeryLow", "Lowest"),
        started=exchange.started,
        time_ms=exchange.end_ms - exchange.start_ms,
    )


def _sent(headers: Headers) -> Headers:
    return tuple(h for h in headers if not _NOT_SENT.fullmatch(h[0]))


def _busied(objects: list[Object], kept: list[_Kept]) -> list[Object]:
    """Scripts that are busy until the first request they cause, `_MOST_BUSY_MS` at most."""
    first: dict[int, float] = {}
    for item, child in zip(objects, kept, strict=True):
        if item.parent is not None:
            first.setdefault(item.parent, child.exchange.start_ms)
    busy = [first.get(i, 0.0) - k.exchange.end_ms for i, k in enumerate(kept)]
    return [
        structs.replace(o, busy_ms=min(max(ms, 0.0), _MOST_BUSY_MS)) if o.kind == "script" else o
        for o, ms in zip(objects, busy, strict=True)
    ]
