"""URLs as the origin can serve them: https on port 443 or http on port 80, a DNS name."""

import re
from ipaddress import ip_address
from urllib.parse import quote, urlsplit

_DNS_NAME = re.compile(r"(?!.*[-.]$)[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*")
# What a URL may hold as it stands; everything else (spaces, non-ASCII) is percent-encoded.
_URL_CHARACTERS = "%!$&'()*+,;=:@/?~|[]{}^`\\\"<>"
_DEFAULT_PORT = {"http": 80, "https": 443}


class Unservable(ValueError):
    """The origin cannot serve this; the text says why."""


def _is_ip(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def servable(url: str, *, keep_http: bool = False) -> str:
    """The normalised `url`: host in lower case, no default port, no fragment; https for http unless
    that is kept.

    Raises `Unservable`.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
        host = (parts.hostname or "").encode("idna").decode().lower()
        path = quote(parts.path or "/", _URL_CHARACTERS)
        query = quote(parts.query, _URL_CHARACTERS)
    except ValueError as error:
        raise Unservable(f"not a URL ({error})") from None
    if parts.scheme not in _DEFAULT_PORT:
        raise Unservable(f"the scheme {parts.scheme or 'of nothing'} is not http or https")
    if _is_ip(host):
        raise Unservable("its host is an IP address and not a name")
    if not _DNS_NAME.fullmatch(host) or len(host) > 253:
        raise Unservable("its host is not a DNS name")
    if port not in (None, _DEFAULT_PORT[parts.scheme]):
        raise Unservable(f"port {port} is not served, only 443 and, for http, 80")
    # A browser asks for "/?" when it is told to, which is not "/".
    mark = "?" if "?" in url.partition("#")[0] else ""
    scheme = parts.scheme if keep_http else "https"
    return f"{scheme}://{host}{path}{mark}{query}"
