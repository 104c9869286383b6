"""Removes what a recording must not contain: the recorder's cookies, credentials and tokens."""

import re

from msgspec import structs

from dragstrip.model.page import Failure
from dragstrip.pages.format.recording import Headers, Recorded

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
    """`text` with the values of secret query parameters masked at their length.

    Works on anything that holds URLs. The length is kept, so requests keep their size.
    """
    return _PARAMETER.sub(lambda found: f"{found[1]}={'x' * len(found[2])}", text)


def scrub(answer: Recorded) -> Recorded:
    """The same exchange without secret headers and parameters. Bodies are left as they are."""
    return structs.replace(
        answer,
        url=scrub_url(answer.url),
        initiator=scrub_url(answer.initiator),
        headers=_scrubbed(answer.headers),
        request_headers=_scrubbed(answer.request_headers),
    )


def scrub_failure(failure: Failure) -> Failure:
    return structs.replace(failure, url=scrub_url(failure.url))


def _scrubbed(headers: Headers) -> Headers:
    return tuple((n, scrub_url(v)) for n, v in headers if n.lower() not in SECRET_HEADERS)
