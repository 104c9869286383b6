"""Turns recorded answers into a page that the origin can serve, and names every change."""

from urllib.parse import urljoin

from msgspec import structs

from dragstrip.pages.format.coding import CodingError
from dragstrip.pages.format.recording import (
    REDIRECTS,
    Headers,
    PageError,
    Recorded,
    Recording,
    header,
    one_line,
    replaying,
)
from dragstrip.pages.format.urls import Unservable, servable

_DOCUMENTS = ("text/html", "application/xhtml+xml")
_URL_HEADERS = ("location", "access-control-allow-origin")
_UPGRADE = ("content-security-policy", "upgrade-insecure-requests")


def prepare(
    name: str, source: str, recorded: list[Recorded], *, keep_http: bool = False
) -> Recording:
    """A page of `recorded`, whose URLs and headers are still as they were recorded.

    What was http is served as https unless it is kept: then every stack loads it by HTTP/1.1
    without TLS, as a browser does. A visit starts at the first document or redirect. Raises
    `PageError` if nothing is left.
    """
    changes: list[str] = []
    kept = _servable(recorded, changes, keep_http=keep_http)
    start = next((a for a, _ in kept if _may_start(a)), None)
    if start is None:
        raise PageError(
            f"{source} holds no document that can be served{''.join(f'; {c}' for c in changes)}; "
            "record the page again"
        )
    answers = [a for a, _ in kept] if keep_http else _secured(kept, changes)
    answers = [_decodable(answer, changes) for answer in answers]
    return Recording(
        name=name,
        url=start.url,
        source=source,
        changes=tuple(changes),
        answers=tuple(structs.replace(a, headers=replaying(a.headers)) for a in answers),
    )


def _may_start(answer: Recorded) -> bool:
    is_document = answer.mime in _DOCUMENTS or answer.status in REDIRECTS
    return answer.method == "GET" and is_document


def _servable(
    recorded: list[Recorded], changes: list[str], *, keep_http: bool
) -> list[tuple[Recorded, str]]:
    """The answers with a URL that the origin can serve, each with its recorded URL."""
    kept = []
    left_out: dict[str, int] = {}
    for answer in recorded:
        try:
            if not 200 <= answer.status <= 599:
                raise Unservable(f"status {answer.status} is not a final answer")
            url = servable(answer.url, keep_http=keep_http)
            kept.append((structs.replace(answer, url=url), answer.url))
        except Unservable as error:
            sentence = f"{one_line(answer.method)} {one_line(answer.url)} left out: {error}"
            left_out[sentence] = left_out.get(sentence, 0) + 1
    changes += [s if n == 1 else f"{s} ({n} times)" for s, n in left_out.items()]
    return kept


def _secured(kept: list[tuple[Recorded, str]], changes: list[str]) -> list[Recorded]:
    """Serve http:// as https://.

    Bodies still say http://, and a browser blocks http scripts, styles and frames of an https
    page. Rather than rewrite the bodies (sizes, hashes, URLs put together by scripts), each
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
        if answer.mime in _DOCUMENTS:
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


def _decodable(answer: Recorded, changes: list[str]) -> Recorded:
    """An answer whose body is in the coding it claims; recorders often store it decoded."""
    try:
        _ = answer.body
    except CodingError as error:
        changes.append(f"{answer.url} is served without content-encoding: {error}")
        headers: Headers = tuple(h for h in answer.headers if h[0].lower() != "content-encoding")
        return structs.replace(answer, headers=headers)
    return answer
