"""Turns recorded answers into a page that the origin can serve, and reports every change."""

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from urllib.parse import urljoin, urlsplit

from msgspec import structs

from dragstrip.pages.format.coding import CodingError, TooLong, decode
from dragstrip.pages.format.recorded_servers import settled
from dragstrip.pages.format.recording import (
    HTML,
    REDIRECTS,
    Headers,
    PageError,
    Recorded,
    RecordedSocket,
    Recording,
    header,
    one_line,
    replaying,
)
from dragstrip.pages.format.spool import SpooledExchange, WholeExchanges, whole
from dragstrip.pages.format.urls import Unservable, servable, servable_socket
from dragstrip.pages.importers.choose import choose
from dragstrip.pages.importers.contents import Contents
from dragstrip.pages.importers.limits import DEFAULT, SMALL, Limits, beyond, check_body
from dragstrip.pages.importers.local_hosts import LocalHosts
from dragstrip.pages.importers.scrub import scrub, scrub_socket, scrub_url, scrubbed
from dragstrip.pages.importers.servable import check_message
from dragstrip.pages.importers.wish import Wish

_URL_HEADERS = ("location", "access-control-allow-origin")
_UPGRADE = ("content-security-policy", "upgrade-insecure-requests")


def page_of(contents: Contents, path: Path, name: str, wish: Wish) -> Recording:
    """Return the page that `wish` selects from the content of `path`. Raises `PageError`."""
    try:
        chosen = choose(contents, wish.part, _printable(path))
        recording = prepare(
            name,
            f"{_printable(path)}, {contents.source}",
            chosen.exchanges,
            start=chosen.start,
            keep_http=wish.keep_http,
            keep_secrets=wish.keep_secrets,
            limits=wish.limits,
        )
    except PageError as error:
        raise PageError(f"{path}: {error}") from None
    changes = (*chosen.changes, *contents.changes, *recording.changes)
    return structs.replace(recording, changes=changes)


def _printable(path: Path) -> str:
    """Return the path's name as text, with undecodable bytes replaced."""
    return os.fsencode(path.name or path.resolve().name).decode("utf-8", "replace")


def prepare(
    name: str,
    source: str,
    recorded: Sequence[Recorded],
    *,
    start: str = "",
    sockets: Sequence[RecordedSocket] = (),
    keep_http: bool = False,
    keep_secrets: bool = False,
    limits: Limits = DEFAULT,
) -> Recording:
    """Make a page from `recorded` and `sockets`, whose URLs and headers are as recorded.

    Objects from http URLs are served as https unless http is kept; then every stack loads them by
    HTTP/1.1 without TLS, as a browser does. A visit starts at the recorded URL `start`; if that is
    empty, at the first document or redirect. Cookies, credentials and tokens are removed unless
    they are kept. Raises `PageError` if no answer is left.
    """
    changes: list[str] = []
    if not keep_secrets:
        recorded, start = _scrubbed(recorded, changes), scrub_url(start)
        sockets = [scrub_socket(s) for s in sockets]
    if local := LocalHosts([a.url for a in recorded] + [s.url for s in sockets]):
        recorded, start = [local.answer(a) for a in recorded], local.text(start)
        sockets = [structs.replace(s, url=local.text(s.url)) for s in sockets]
    kept = _servable(recorded, changes, keep_http=keep_http, limits=limits)
    first = next((a for a, url in kept if a.method == "GET" and start in ("", url)), None)
    if not start or first is None:
        first = next((a for a, _ in kept if _may_start(a)), None)
    if first is None:
        raise PageError(
            f"{source} holds no document that can be served{''.join(f'; {c}' for c in changes)}; "
            "record the page again"
        )
    answers = [a for a, _ in kept] if keep_http else _secured(kept, changes)
    answers = [_decodable(answer, changes, limits) for answer in answers]
    if local:
        answers = _with_names(answers, local, changes)
    found, said = settled([(urlsplit(a.url).hostname or "", a.server_ip) for a in answers])
    changes += said
    answers = [
        structs.replace(a, server_ip=ip, headers=replaying(a.headers))
        for a, ip in zip(answers, found, strict=True)
    ]
    opened = tuple(_sockets(sockets, changes, keep_http=keep_http))
    on_disk = any(isinstance(a, SpooledExchange) for a in answers)
    return Recording(
        name=name,
        url=first.url,
        source=source,
        changes=tuple(changes),
        answers=WholeExchanges(answers) if on_disk else tuple(answers),
        sockets=opened,
    )


def _scrubbed(recorded: Iterable[Recorded], changes: list[str]) -> list[Recorded]:
    before = list(recorded)
    after = [scrub(a) for a in before]
    changes += scrubbed(sum(a is not b for a, b in zip(after, before, strict=True)))
    return after


def _with_names(
    answers: Sequence[Recorded], local: LocalHosts, changes: list[str]
) -> list[Recorded]:
    after = [local.body(a) for a in answers]
    changed = sum(a is not b for a, b in zip(after, answers, strict=True))
    changes.append(f"{local.words}; {changed} bodies that name them were changed")
    return after


def _sockets(
    recorded: Sequence[RecordedSocket], changes: list[str], *, keep_http: bool
) -> Iterator[RecordedSocket]:
    """Yield the sockets with a URL that the origin can serve."""
    for socket in recorded:
        try:
            yield structs.replace(socket, url=servable_socket(socket.url, keep_http=keep_http))
        except Unservable as error:
            changes.append(f"WebSocket {one_line(socket.url)} left out: {error}")


def _may_start(answer: Recorded) -> bool:
    is_document = answer.mime in HTML or answer.status in REDIRECTS
    return answer.method == "GET" and is_document


def _servable(
    recorded: Sequence[Recorded], changes: list[str], *, keep_http: bool, limits: Limits
) -> list[tuple[Recorded, str]]:
    """Return the answers with a URL that the origin can serve, each with its recorded URL."""
    kept = []
    left_out: dict[str, int] = {}
    for answer in recorded:
        try:
            check_message(answer, limits)
            url = servable(answer.url, keep_http=keep_http)
            kept.append((structs.replace(answer, url=url), answer.url))
        except Unservable as error:
            sentence = f"{one_line(answer.method)} {one_line(answer.url)} left out: {error}"
            left_out[sentence] = left_out.get(sentence, 0) + 1
    changes += [s if n == 1 else f"{s} ({n} times)" for s, n in left_out.items()]
    return kept


def _secured(kept: list[tuple[Recorded, str]], changes: list[str]) -> list[Recorded]:
    """Return the answers with https:// URLs instead of http://.

    Bodies still say http://, and a browser blocks http scripts, styles and frames of an https page.
    Rewriting bodies would change sizes and hashes, and miss URLs that scripts compose. So each
    document tells the browser to upgrade such requests, as sites that move to https do.
    """
    insecure = sum(url.lower().startswith("http:") for _, url in kept)
    if not insecure:
        return [answer for answer, _ in kept]
    changes.append(f"{insecure} of {len(kept)} URLs were http:// and are served as https")
    answers = []
    for answer, url in kept:
        if answer.url != url and _leads_to_itself(answer):
            changes.append(f"{url} left out: it only redirected to its own https URL")
            continue
        headers = tuple((n, _secure_value(n, v)) for n, v in answer.headers)
        if answer.mime in HTML:
            headers += (_UPGRADE,)
        answers.append(structs.replace(answer, headers=headers))
    documents = sum(_UPGRADE in answer.headers for answer in answers)
    changes.append(
        f"{documents} documents got the header {': '.join(_UPGRADE)}, "
        "so that their http:// references are asked for by https"
    )
    return answers


def _leads_to_itself(answer: Recorded) -> bool:
    if answer.status not in REDIRECTS:
        return False
    try:
        return servable(urljoin(answer.url, header(answer.headers, "location"))) == answer.url
    except ValueError:
        return False


def _secure_value(name: str, value: str) -> str:
    is_insecure_url = name.lower() in _URL_HEADERS and value.lower().startswith("http://")
    return f"https{value[4:]}" if is_insecure_url else value


def _decodable(answer: Recorded, changes: list[str], limits: Limits) -> Recorded:
    """Return the answer with headers that fit its body's coding, because recorders often store the
    decoded body."""
    if answer.coding in ("", "identity"):
        return answer
    wire = whole(answer).wire
    what = f"the body of {one_line(answer.url)}"
    most = min(limits.most_body, max(SMALL, limits.max_ratio * len(wire)))
    try:
        decode(wire, answer.coding, most)
    except TooLong:
        if most == limits.most_body:
            check_body(most + 1, what, limits)
        raise beyond(
            f"{what} is compressed by a factor of", "max_ratio", limits.max_ratio
        ) from None
    except CodingError as error:
        changes.append(f"{answer.url} is served without content-encoding: {error}")
        headers: Headers = tuple(h for h in answer.headers if h[0].lower() != "content-encoding")
        return structs.replace(answer, headers=headers)
    return answer
