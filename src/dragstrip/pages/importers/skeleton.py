"""Turns a HAR without bodies into the structure of a page."""

import re
from collections import Counter, defaultdict, deque
from collections.abc import Sequence
from functools import lru_cache
from urllib.parse import urljoin, urlsplit

from msgspec import Struct, structs

from dragstrip.pages.format.recorded_servers import settled
from dragstrip.pages.format.recording import REDIRECTS, Headers, PageError, header, one_line
from dragstrip.pages.format.structure import Object, ResourceKind, Structure
from dragstrip.pages.format.urls import Unservable, servable
from dragstrip.pages.importers.har_entry import HarExchange
from dragstrip.pages.importers.har_file import HarVisit
from dragstrip.pages.importers.har_sockets import is_socket
from dragstrip.pages.importers.har_start import why_none
from dragstrip.pages.importers.har_think import think_sentences, think_times
from dragstrip.pages.importers.initiators import Cause, Clues, causes
from dragstrip.pages.importers.kind import kind_of
from dragstrip.pages.importers.limits import DEFAULT, Limits
from dragstrip.pages.importers.local_hosts import LocalHosts
from dragstrip.pages.importers.sentences import listed
from dragstrip.pages.importers.servable import check_message
from dragstrip.pages.importers.wiresize import WireSize, sentences, wire_sizes

_NOT_SENT = re.compile(
    "content-(encoding|type|length|security-policy.*|disposition)|set-cookie2?|link|refresh|status"
    "|x-frame-options|x-content-type-options|cross-origin-.*|access-control-.*|clear-site-data"
    "|timing-allow-origin|location|vary|www-authenticate|permissions-policy|feature-policy"
    "|(expect|public-key)-.*|reporting-endpoints|report-to|nel|sourcemap|x-sourcemap",
    re.IGNORECASE,
)
"""Headers that would prevent a made-up page from loading, or that describe the recorded body."""
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD")
_MOST_BUSY_MS = 500.0
_NAMED = 12


class _Kept(Struct, frozen=True, kw_only=True):
    """An exchange that will be part of the page."""

    exchange: HarExchange
    url: str
    target: str
    """Target of a redirect, as served; empty for other answers."""
    preflighted: bool = False


def skeleton(
    visited: HarVisit,
    name: str,
    source: str,
    *,
    busy: bool = False,
    keep_http: bool = False,
    limits: Limits = DEFAULT,
) -> Structure:
    """Return the structure of all objects recorded up to the load event. Raises `PageError`.

    With `busy`, each script keeps the browser busy after its arrival, for the recorded time until
    the first request that it caused.
    """
    changes: list[str] = []
    exchanges = _named(visited.exchanges, changes)
    kept = _servable(exchanges, changes, limits, keep_http=keep_http)
    kept = _from_document(_joined(_before_load(kept, visited, changes), changes), changes)
    kinds = [_kind(k) for k in kept]
    follows = _redirects(kept)
    root = _start(kinds, follows, 0)
    if root is None:
        raise PageError(why_none(visited))
    for index in reversed(range(len(kept))):
        if (before := follows[index]) is not None:
            kinds[before] = kinds[index]
    seen = zip(kept, kinds, follows, strict=True)
    why = causes([_seen(*row, keep_http=keep_http) for row in seen], root)
    sizes = wire_sizes([k.exchange for k in kept])
    thinks = think_times([k.exchange for k in kept])
    changes += _explained(kept, sizes, why)
    changes += think_sentences([k.exchange for k in kept], thinks)
    leading = {before for before in follows if before is not None}
    objects = [
        _object(k, kind, follow, cause, size, led=i in leading)
        for i, (k, kind, follow, cause, size) in enumerate(
            zip(kept, kinds, follows, why, sizes, strict=True)
        )
    ]
    if busy:
        objects = _with_busy_scripts(objects, kept)
    servers = [(urlsplit(k.url).hostname or "", k.exchange.server_ip) for k in kept]
    found, said = settled(servers)
    changes += said
    objects = [
        structs.replace(o, server_ip=ip, think_ms=think)
        for o, ip, think in zip(objects, found, thinks, strict=True)
    ]
    return Structure(
        name=name,
        title=visited.title or name,
        source=source,
        changes=tuple(changes),
        objects=tuple(objects),
    )


def _named(exchanges: Sequence[HarExchange], changes: list[str]) -> Sequence[HarExchange]:
    """Return the exchanges, with a name in place of each host that browsers do not look up."""
    local = LocalHosts(x.url for x in exchanges)
    if not local:
        return exchanges
    changes.append(local.words)
    return [
        structs.replace(
            x,
            url=local.text(x.url),
            location=local.text(x.location),
            initiator=local.text(x.initiator),
            request_headers=local.headers(x.request_headers),
        )
        for x in exchanges
    ]


def _servable(
    exchanges: Sequence[HarExchange], changes: list[str], limits: Limits, *, keep_http: bool
) -> list[_Kept]:
    kept, insecure = [], 0
    left_out: Counter[str] = Counter()
    for exchange in exchanges:
        try:
            if is_socket(exchange):
                raise Unservable("without its bodies nothing opens a WebSocket")
            check_message(exchange, limits)
            url = servable(exchange.url, keep_http=keep_http)
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


def _before_load(kept: list[_Kept], visited: HarVisit, changes: list[str]) -> list[_Kept]:
    """Return the requests that began before the load event, including those answered by a cache."""
    end = visited.load_ms
    late = [k.url for k in kept if end is not None and k.exchange.start_ms > end]
    kept = [k for k in kept if end is None or k.exchange.start_ms <= end]
    if end is None:
        changes.append("the recording does not say when the page was loaded: all of it is kept")
    elif late:
        changes.append(
            f"{len(late)} requests left out that began after the load event at {end:.0f} ms: "
            f"{listed(late, _NAMED)}"
        )
    if cached := [k.url for k in kept if k.exchange.cached]:
        changes.append(
            f"{len(cached)} of {len(kept)} answers came from a cache and are fetched like the "
            f"rest: {listed(cached, _NAMED)}"
        )
    return kept


def _joined(kept: list[_Kept], changes: list[str]) -> list[_Kept]:
    """Return the requests without preflights, and without redirects from an http URL to the same
    https URL.

    The browser itself makes preflights for the requests that need one.
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
    """Return the kind of a request. A request with a preflight must be a script's fetch."""
    return "fetch" if kept.preflighted else kind_of(kept.exchange)


def _redirects(kept: list[_Kept]) -> list[int | None]:
    """Return the index of the redirect that each request follows; None if it follows none."""
    follows: list[int | None] = [None] * len(kept)
    free: dict[str, deque[int]] = defaultdict(deque)
    for index, item in enumerate(kept):
        free[item.url].append(index)
    for index, item in enumerate(kept):
        later = free.get(item.target) if item.target else None
        while later and later[0] <= index:
            later.popleft()
        if later:
            follows[later.popleft()] = index
    return follows


def _start(kinds: list[ResourceKind], follows: list[int | None], first: int) -> int | None:
    """Return the index of the document that the request at `first` leads to, through any redirects;
    None if there is none."""
    at = first
    for index in range(first, len(follows)):
        if follows[index] == at:
            at = index
    return at if kinds and kinds[at] == "document" else None


def _from_document(kept: list[_Kept], changes: list[str]) -> list[_Kept]:
    """Return the requests without those that the browser made before the document, such as icons of
    its start page."""
    kinds, follows = [_kind(k) for k in kept], _redirects(kept)
    if not kept or _start(kinds, follows, 0) is not None:
        return kept
    for first, item in enumerate(kept):
        may = kinds[first] == "document" and not _is_framed(item.exchange)
        redirects = bool(item.target) and item.exchange.method == "GET"
        if (may or redirects) and _start(kinds, follows, first) is not None:
            early = [k.url for k in kept[:first]]
            changes.append(
                f"{len(early)} requests left out that began before the document: {listed(early)}"
            )
            return kept[first:]
    return []


def _is_framed(exchange: HarExchange) -> bool:
    said = exchange.resource_type, header(exchange.request_headers, "sec-fetch-dest").lower()
    return bool({"iframe", "frame"}.intersection(said))


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


@lru_cache(maxsize=1024)
def _served(url: str, *, keep_http: bool) -> str:
    try:
        return servable(url, keep_http=keep_http) if url else ""
    except Unservable:
        return ""


def _explained(kept: list[_Kept], sizes: list[WireSize], why: list[Cause]) -> list[str]:
    """Return sentences that count the changes to sizes, causes and requests."""
    changes = sentences([k.exchange for k in kept], sizes)
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
        changes.append(
            f"{again} answers with status 206 or 304 are served with status 200, as much of each "
            "as was recorded"
        )
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
        content_type=exchange.content_type,
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
        certificate=exchange.certificate,
    )


def _sent(headers: Headers) -> Headers:
    return tuple(h for h in headers if not _NOT_SENT.fullmatch(h[0]))


def _with_busy_scripts(objects: list[Object], kept: list[_Kept]) -> list[Object]:
    """Return the objects, with scripts that keep the browser busy until the first request they
    cause, for at most `_MOST_BUSY_MS`."""
    first: dict[int, float] = {}
    for item, child in zip(objects, kept, strict=True):
        if item.parent is not None:
            first.setdefault(item.parent, child.exchange.start_ms)
    busy = [first.get(i, 0.0) - k.exchange.end_ms for i, k in enumerate(kept)]
    return [
        structs.replace(o, busy_ms=min(max(ms, 0.0), _MOST_BUSY_MS)) if o.kind == "script" else o
        for o, ms in zip(objects, busy, strict=True)
    ]
