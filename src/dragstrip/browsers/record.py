"""Records a page: loads it once in Chromium and keeps every answer, with bodies as they were sent
over the wire.

The bodies come from the browser's NetLog (`dragstrip.browsers.netlog`), which the browser streams
to disk. The initiator of each request comes from the page's DevTools session.
"""

import contextlib
import time
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from urllib.parse import urldefrag, urlsplit

from msgspec import Struct, structs

from dragstrip.browsers.chromium import Chromium, chromium_at
from dragstrip.browsers.errors import BrowserError
from dragstrip.browsers.load import Load
from dragstrip.browsers.netlog import LoggedRequest, NetLogError, read_netlog
from dragstrip.browsers.place import BrowserPlace
from dragstrip.browsers.sockets import SeenSocket
from dragstrip.model.answers import without_body
from dragstrip.model.page import Failure
from dragstrip.model.study import Client
from dragstrip.pages.format.recording import PageError, RecordedSocket, Recording
from dragstrip.pages.format.spool import SpooledExchange
from dragstrip.pages.importers.prepare import prepare
from dragstrip.pages.importers.scrub import scrub_failure
from dragstrip.testbed.errors import TestbedError

_CLOSE_S = 10.0
_NEVER_SENT = "ERR_CACHE_MISS"
"""Chromium's error for a request that only the cache may answer, such as some for fonts."""


class _Seen(Struct, frozen=True, kw_only=True):
    """The data that a recording visit collected."""

    load: Load
    screenshot: bytes


def record(
    place: BrowserPlace, url: str, client: Client, *, settle_ms: float, keep_secrets: bool
) -> Recording:
    """Load the page at `url` in `place` and return it, ready for `archive.write_page`.

    Recording continues for `settle_ms` after the load event. The bodies stay in files in the
    place's workspace, which must not be removed before the recording. Cookies, credentials and
    tokens are left out unless `keep_secrets`. Raises `PageError`, `TestbedError`, `BrowserError`.
    """
    log, bodies = place.workspace / "netlog.json", place.workspace / "bodies"
    bodies.mkdir()
    log.touch()
    log.chmod(0o666 if place.drop_root else 0o600)
    flags = (f"--log-net-log={log}", "--net-log-capture-mode=Everything")
    with chromium_at(place, "h2", client, flags) as browser:
        seen = _visit(browser, url, client, settle_ms)
    try:
        logged = read_netlog(log, bodies)
    except NetLogError as error:
        raise TestbedError(f"the browser's NetLog cannot be read: {error}") from None
    log.unlink()
    if seen.load.outcome != "loaded":
        raise PageError(
            f"{url} did not load ({seen.load.error or seen.load.outcome}); check the URL"
        )
    return _recording(url, seen, logged, keep_secrets=keep_secrets)


def _visit(browser: Chromium, url: str, client: Client, settle_ms: float) -> _Seen:
    with browser.fresh_tab(structs.replace(client, quiet_ms=settle_ms)) as tab:
        loaded = tab.load(url)
        picture = tab.screenshot() if loaded.outcome == "loaded" else b""
    browser.cdp.send("Browser.close")  # in peace, so that the log is written to its end
    deadline = time.monotonic() + _CLOSE_S
    with contextlib.suppress(BrowserError):
        while browser.cdp.pump(deadline):
            pass
    return _Seen(load=loaded, screenshot=picture)


def _recording(
    url: str, seen: _Seen, logged: list[LoggedRequest], *, keep_secrets: bool
) -> Recording:
    changes: list[str] = []
    answers = list(_answers(logged, seen.load, changes))
    opened = [_socket(s, seen.load) for s in seen.load.sockets if s.socket.open_ms is not None]
    failures = [
        Failure(url=r.url, method=r.method, error=r.error)
        for r in logged
        if r.error not in ("", _NEVER_SENT) and not r.status_line
    ]
    if not keep_secrets:
        failures = [scrub_failure(f) for f in failures]
    name = url.partition("://")[2].strip("/").partition("?")[0].replace("/", "_") or "page"
    prepared = prepare(
        name, f"recorded from {url}", answers, sockets=opened, keep_secrets=keep_secrets
    )
    return structs.replace(
        prepared,
        changes=(*prepared.changes, *changes),
        failures=tuple(failures),
        screenshot=seen.screenshot,
        load_ms=_load_ms(seen.load, logged),
    )


def _socket(seen: SeenSocket, load: Load) -> RecordedSocket:
    socket = seen.socket
    opened_ms = socket.open_ms or 0.0
    last_ms = max([opened_ms, *(at_ms for at_ms, *_ in seen.messages)])
    return RecordedSocket(
        url=socket.url,
        headers=seen.headers,
        started=datetime.fromtimestamp(load.time_origin_s + socket.start_ms / 1000, UTC),
        open_ms=opened_ms - socket.start_ms,
        time_ms=(socket.end_ms or last_ms) - socket.start_ms,
        initiator=socket.initiator,
        messages=seen.recorded(),
    )


def _answers(
    logged: list[LoggedRequest], load: Load, changes: list[str]
) -> Iterator[SpooledExchange]:
    initiators = _initiators(load)
    thinking = _thinking(logged, load)
    by_host = {e.request.host: e for e in reversed(load.exchanges) if e.request.remote_ip}
    for request in logged:
        if not request.status_line:
            continue  # the request failed, or was answered without the network
        version, _, rest = request.status_line.partition(" ")
        status, _, text = rest.partition(" ")
        if request.error:
            changes.append(f"{request.url} was cut off when recorded ({request.error})")
        if without_body(request.method, int(status)):
            request.body.unlink(missing_ok=True)
        ended = request.ended_ms or request.answered_ms or request.started_ms
        server = by_host.get(urlsplit(request.url).hostname or "")
        yield SpooledExchange(
            url=request.url,
            method=request.method,
            status=int(status),
            status_text=text,
            http_version=version,
            headers=request.headers,
            request_headers=request.request_headers,
            started=datetime.fromtimestamp(request.started_ms / 1000, UTC),
            time_ms=ended - request.started_ms,
            initiator=next(initiators[request.method, urldefrag(request.url).url], ""),
            think_ms=thinking.get(id(request)),
            early_hints=request.early_hints,
            server_ip=server.request.remote_ip if server else "",
            certificate=server.certificate if server else None,
            load=partial(_read, request.body),
        )


def _initiators(load: Load) -> defaultdict[tuple[str, str], Iterator[str]]:
    """Return the initiators of requests, by method and URL, in the order in which the requests were
    made."""
    named: dict[tuple[str, str], list[str]] = {}
    for exchange in load.exchanges:
        request = exchange.request
        if not request.from_cache:
            key = request.method, urldefrag(request.url).url
            named.setdefault(key, []).append(urldefrag(request.initiator).url)
    return defaultdict(lambda: iter(()), {key: iter(urls) for key, urls in named.items()})


def _thinking(logged: list[LoggedRequest], load: Load) -> dict[int, float]:
    """Return the server's think time in ms, by ``id()`` of the logged request: the request's wait
    minus the shortest round trip to its host.

    The round trip is the shortest of the host's TCP connects and waits. The think time is 0 for a
    host that answered once and whose connect the browser did not time.
    """
    trips: dict[str, list[float]] = defaultdict(list)
    waits: list[tuple[LoggedRequest, str, float]] = []
    for request in logged:
        if request.sent_ms is not None and request.answered_ms is not None:
            host = request.url.partition("://")[2].partition("/")[0].lower()
            wait = max(0.0, request.answered_ms - request.sent_ms)
            waits.append((request, host, wait))
            trips[host].append(wait)
    for exchange in load.exchanges:
        timed = exchange.request
        connected = timed.tls_start_ms if timed.tls_start_ms is not None else timed.connect_end_ms
        if timed.connect_start_ms is not None and connected is not None:
            trips[timed.host].append(connected - timed.connect_start_ms)
    return {id(r): max(0.0, wait - min(trips[host])) for r, host, wait in waits}


def _load_ms(load: Load, logged: list[LoggedRequest]) -> float | None:
    if not logged or not load.navigation.loadEventEnd:
        return None
    first_ms = min(r.started_ms for r in logged)
    return load.time_origin_s * 1000 + load.navigation.loadEventEnd - first_ms


def _read(spool: Path) -> bytes:
    return spool.read_bytes() if spool.exists() else b""
