"""Removes what a recording must not contain: the recorder's cookies, credentials and tokens."""

import re

from msgspec import structs

from dragstrip.model.page import Failure
from dragstrip.pages.format.recording import Headers, Recorded, RecordedSocket

SECRET_HEADERS = frozenset(
    "authorization cookie cookie2 proxy-authorization set-cookie set-cookie2 "
    "x-api-key x-auth-token x-csrf-token x-xsrf-token".split()
)
SECRET_PARAMETERS = (
    "access_token apikey api_key api-key auth authorization auth_token code credential csrf "
    "csrf_token id_token jwt key oauth_token passwd password pwd refresh_token secret "
    "client_secret session session_id sessionid sid sig signature token xsrf "
    "x-amz-credential x-amz-security-token x-amz-signature x-goog-credential x-goog-signature"
).split()
_PARAMETER = re.compile(
    rf"(?<=[?&;])({'|'.join(map(re.escape, SECRET_PARAMETERS))})=([^&;#\s\"'<>]+)", re.IGNORECASE
)


def scrub_url(text: str) -> str:
    """Mask the values of secret query parameters in `text`.

    The text may be any text that contains URLs. The URLs' length stays the same, so requests keep
    their size.
    """
    return _PARAMETER.sub(lambda found: f"{found[1]}={'x' * len(found[2])}", text)


def scrub(answer: Recorded) -> Recorded:
    """Return the exchange without secret headers and parameters; the same object if it has none.
    The body does not change."""
    cleaned = {
        "url": scrub_url(answer.url),
        "initiator": scrub_url(answer.initiator),
        "headers": scrub_headers(answer.headers),
        "request_headers": scrub_headers(answer.request_headers),
        "early_hints": tuple(map(scrub_url, answer.early_hints)),
    }
    changed = {name: value for name, value in cleaned.items() if value != getattr(answer, name)}
    return structs.replace(answer, **changed) if changed else answer


def scrub_failure(failure: Failure) -> Failure:
    return structs.replace(failure, url=scrub_url(failure.url))


def scrub_socket(socket: RecordedSocket) -> RecordedSocket:
    """Return the socket without secret parameters and without the data of the page's messages: no
    replay needs them, and they often contain logins."""
    said = (structs.replace(m, data="") if m.sent else m for m in socket.messages)
    return structs.replace(
        socket,
        url=scrub_url(socket.url),
        initiator=scrub_url(socket.initiator),
        messages=tuple(said),
    )


def scrubbed(exchanges: int) -> list[str]:
    """Return a sentence on this number of scrubbed exchanges; an empty list for 0."""
    if not exchanges:
        return []
    of = "1 exchange" if exchanges == 1 else f"{exchanges} exchanges"
    return [f"cookies, credentials and tokens of {of} were left out; --keep-secrets keeps them"]


def scrub_headers(headers: Headers) -> Headers:
    return tuple((n, scrub_url(v)) for n, v in headers if n.lower() not in SECRET_HEADERS)
