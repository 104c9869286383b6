"""Imports a HAR: with its bodies, or as a made-up page of the same structure."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import structs

from dragstrip.pages.format.coding import encode_near
from dragstrip.pages.format.recording import Headers, PageError, Recorded, Recording, header
from dragstrip.pages.importers.har_entry import HarExchange
from dragstrip.pages.importers.har_file import HarVisit, read_visit
from dragstrip.pages.importers.har_sockets import is_socket, socket_of
from dragstrip.pages.importers.har_think import think_sentences, think_times
from dragstrip.pages.importers.kind import kind_of
from dragstrip.pages.importers.limits import beyond
from dragstrip.pages.importers.prepare import prepare
from dragstrip.pages.importers.scrub import scrub_headers, scrub_socket, scrub_url, scrubbed
from dragstrip.pages.importers.sentences import listed
from dragstrip.pages.importers.skeleton import skeleton
from dragstrip.pages.importers.wiresize import WireSize, sentences, wire_sizes
from dragstrip.pages.importers.wish import Wish
from dragstrip.pages.made.assembly import filler, make

_ENOUGH = 0.5
"""Share of non-empty answers: a HAR counts as having bodies if at least this share has one."""


def read_har(path: Path, name: str, wish: Wish | None = None) -> Recording:
    """Read the page that `wish` selects from a HAR, ready to be written. Raises `PageError`."""
    wish = wish or Wish()
    visited = read_visit(path, wish.part, wish.limits)
    try:
        if not wish.keep_secrets:
            visited = _scrubbed(visited)
        page = f"#{visited.number} of {visited.of} pages, " if visited.of > 1 else ""
        source = f"{path.name}, {page}a HAR by {visited.creator}"
        sizes = wire_sizes(visited.exchanges)
        if sum(size.size for size in sizes) > wish.limits.max_bytes:
            raise beyond("the size of its bodies is", "max_bytes", wish.limits.max_bytes)
        if _has_bodies(visited.exchanges, sizes):
            recording = _with_bodies(visited, sizes, name, source, wish)
        else:
            source = f"{source}, without bodies"
            made = skeleton(
                visited,
                name,
                source,
                busy=wish.busy,
                keep_http=wish.keep_http,
                limits=wish.limits,
            )
            recording = make(made)
        return structs.replace(recording, changes=(*visited.changes, *recording.changes))
    except PageError as error:
        raise PageError(f"{path}: {error}") from None


def _scrubbed(visited: HarVisit) -> HarVisit:
    """Return the page without the recorder's cookies, credentials and tokens."""
    after = tuple(map(_scrub, visited.exchanges))
    count = sum(a != b for a, b in zip(after, visited.exchanges, strict=True))
    said = scrubbed(count)
    return structs.replace(visited, exchanges=after, changes=(*visited.changes, *said))


def _scrub(exchange: HarExchange) -> HarExchange:
    return structs.replace(
        exchange,
        url=scrub_url(exchange.url),
        location=scrub_url(exchange.location),
        initiator=scrub_url(exchange.initiator),
        headers=scrub_headers(exchange.headers),
        request_headers=scrub_headers(exchange.request_headers),
        early_hints=tuple(map(scrub_url, exchange.early_hints)),
    )


def _has_bodies(exchanges: Sequence[HarExchange], sizes: Sequence[WireSize]) -> bool:
    both = zip(exchanges, sizes, strict=True)
    full = [x for x, size in both if x.content or size.size]
    held = sum(x.content is not None for x in full)
    documents = (x for x in exchanges if "html" in x.mime and x.status in (200, 304))
    document = next(documents, None)
    return bool(document and document.content) and held >= _ENOUGH * len(full)


def _with_bodies(
    visited: HarVisit, sizes: Sequence[WireSize], name: str, source: str, wish: Wish
) -> Recording:
    made_up: list[str] = []
    sockets = [socket_of(x) for x in visited.exchanges if is_socket(x)]
    if not wish.keep_secrets:
        sockets = [scrub_socket(s) for s in sockets]
    both = [(x, s) for x, s in zip(visited.exchanges, sizes, strict=True) if not is_socket(x)]
    visited = structs.replace(visited, exchanges=tuple(x for x, _ in both))
    sizes = [size for _, size in both]
    thinks = think_times(visited.exchanges)
    answers = [
        structs.replace(_answer(x, size.size, made_up), think_ms=think)
        for x, size, think in zip(visited.exchanges, sizes, thinks, strict=True)
    ]
    recording = prepare(
        name,
        source,
        answers,
        sockets=sockets,
        keep_http=wish.keep_http,
        keep_secrets=True,  # what should not be kept has been removed already
        limits=wish.limits,
    )
    changes = [
        *recording.changes,
        *sentences(visited.exchanges, sizes),
        *think_sentences(visited.exchanges, thinks),
    ]
    if reloaded := [x.url for x in visited.exchanges if x.status == 304]:
        changes.append(
            f"{len(reloaded)} answers with status 304 are served whole, with status 200: "
            f"{listed(reloaded)}"
        )
    if made_up:
        changes.append(
            f"{len(made_up)} bodies that the HAR lacks are made up at their recorded size: "
            + ", ".join(u[:120] for u in made_up)
        )
    changes.append("bodies are compressed again with the recorded coding, near the recorded size")
    return structs.replace(recording, changes=tuple(changes))


def _answer(exchange: HarExchange, size: int, made_up: list[str]) -> Recorded:
    headers = exchange.headers
    status, status_text = exchange.status, exchange.status_text
    if status == 304:
        status, status_text = 200, ""
        headers = _typed(headers, exchange.content_type)
    if exchange.content is not None:
        coding = header(headers, "content-encoding").strip().lower()
        wire = encode_near(exchange.content, coding, size)
        if wire is None:
            headers, wire = _without_coding(headers), exchange.content
    elif size and status != 204:
        made_up.append(exchange.url)
        headers = _without_coding(headers)
        wire = filler(kind_of(exchange), exchange.mime, size, exchange.url)
    else:
        wire = b""
    return Recorded(
        url=exchange.url,
        method=exchange.method,
        status=status,
        status_text=status_text,
        http_version=exchange.http_version,
        headers=headers,
        request_headers=exchange.request_headers,
        upload_bytes=exchange.upload_bytes,
        wire=wire,
        started=exchange.started,
        time_ms=exchange.end_ms - exchange.start_ms,
        initiator=exchange.initiator,
        early_hints=exchange.early_hints,
        server_ip=exchange.server_ip,
        certificate=exchange.certificate,
    )


def _typed(headers: Headers, content_type: str) -> Headers:
    """Return the headers with a Content-Type, which a 304 answer may leave out."""
    if header(headers, "content-type") or not content_type:
        return headers
    return (*headers, ("content-type", content_type))


def _without_coding(headers: Headers) -> Headers:
    return tuple(h for h in headers if h[0].lower() != "content-encoding")
