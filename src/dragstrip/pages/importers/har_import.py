"""Import a HAR: with the bodies it holds, or as a made-up page of the same structure."""

from pathlib import Path

from msgspec import structs

from dragstrip.pages.format.coding import encode_near
from dragstrip.pages.format.recording import Headers, PageError, Recorded, Recording, header
from dragstrip.pages.importers.har_file import HarExchange, Visited, read_visit
from dragstrip.pages.importers.prepare import prepare
from dragstrip.pages.importers.skeleton import kind_of, skeleton
from dragstrip.pages.importers.wiresize import wire_size
from dragstrip.pages.made.page import filler, make

_ENOUGH = 0.5
"""A HAR has bodies if it holds them for at least this share of its non-empty answers."""


def read_har(
    path: Path, name: str, wanted: str = "", *, busy: bool = False, keep_http: bool = False
) -> Recording:
    """The page `wanted` of a HAR (see `read_visit`), ready to be written. Raises `PageError`."""
    visited = read_visit(path, wanted)
    try:
        page = f"#{visited.number} of {visited.of} pages, " if visited.of > 1 else ""
        source = f"{path.name}, {page}a HAR by {visited.creator}"
        if _has_bodies(visited):
            return _with_bodies(visited, name, source, keep_http=keep_http)
        source = f"{source}, without bodies"
        return make(skeleton(visited, name, source, busy=busy, keep_http=keep_http))
    except PageError as error:
        raise PageError(f"{path}: {error}") from None


def _has_bodies(visited: Visited) -> bool:
    full = [x for x in visited.exchanges if x.content or wire_size(x).size]
    held = sum(x.content is not None for x in full)
    document = next((x for x in visited.exchanges if "html" in x.mime and x.status == 200), None)
    return bool(document and document.content) and held >= _ENOUGH * len(full)


def _with_bodies(visited: Visited, name: str, source: str, *, keep_http: bool) -> Recording:
    made_up: list[str] = []
    answers = [_answer(x, made_up) for x in visited.exchanges]
    recording = prepare(name, source, answers, keep_http=keep_http)
    changes = list(recording.changes)
    if made_up:
        changes.append(
            f"{len(made_up)} bodies that the HAR lacks are made up at their recorded size: "
            + ", ".join(u[:120] for u in made_up)
        )
    changes.append("bodies are compressed again with the recorded coding, near the recorded size")
    return structs.replace(recording, changes=tuple(changes))


def _answer(exchange: HarExchange, made_up: list[str]) -> Recorded:
    size = wire_size(exchange).size
    headers = exchange.headers
    if exchange.content is not None:
        coding = header(headers, "content-encoding").strip().lower()
        wire = encode_near(exchange.content, coding, size)
        if wire is None:
            headers, wire = _without_coding(headers), exchange.content
    elif size and exchange.status not in (204, 304):
        made_up.append(exchange.url)
        headers = _without_coding(headers)
        wire = filler(kind_of(exchange), exchange.mime, size, exchange.url)
    else:
        wire = b""
    return Recorded(
        url=exchange.url,
        method=exchange.method,
        status=exchange.status,
        status_text=exchange.status_text,
        http_version=exchange.http_version,
        headers=headers,
        request_headers=tuple(
            h for h in exchange.request_headers if h[0].lower() not in ("cookie", "authorization")
        ),
        wire=wire,
        started=exchange.started,
        time_ms=exchange.end_ms - exchange.start_ms,
        initiator=exchange.initiator,
    )


def _without_coding(headers: Headers) -> Headers:
    return tuple(h for h in headers if h[0].lower() != "content-encoding")
