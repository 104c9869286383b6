"""Checks and normalises URLs that the origin can serve: https or http, a DNS name, any port."""

import re
from ipaddress import ip_address
from urllib.parse import quote, urljoin, urlsplit

_DNS_NAME = re.compile(r"(?!.*[-.]$)[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*")
# Characters that a URL may contain unchanged. All others (spaces, non-ASCII) are percent-encoded.
URL_CHARACTERS = "%!$&'()*+,;=:@/?~|[]{}^`\\\"<>"
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
"""Pattern of a number as the last label of a host, which makes the host an IPv4 address (URL
standard, section 3.5)."""
_DEFAULT_PORT = {"http": 80, "https": 443}
_LOCAL = "localhost"
"""A name that always means the browser's own machine (RFC 6761 section 6.3)."""


class Unservable(ValueError):
    """Raised for a URL that the origin cannot serve; the text says why."""


def absolute(base: str, written: str) -> str:
    """Resolve the reference `written` in a document at `base`, without fragment; return an empty
    string if the result is not a URL."""
    try:
        return urljoin(base, written).partition("#")[0]
    except ValueError:  # such as a bad IPv6 literal
        return ""


def is_local(host: str) -> bool:
    """Return whether browsers connect to their own machine for this host, without a DNS lookup."""
    return host == _LOCAL or host.endswith(f".{_LOCAL}")


def is_ip(host: str) -> bool:
    """Return whether the host is an IP address and not a name."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def servable(url: str, *, keep_http: bool = False) -> str:
    """Return the normalised `url`: host in lower case, no default port, no fragment. http becomes
    https unless `keep_http`. Raises `Unservable`.

    IP addresses and localhost are not servable, because browsers look up no name for them: see
    `dragstrip.pages.importers.local_hosts`.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
        host = (parts.hostname or "").encode("idna").decode().lower()
        path = quote(parts.path or "/", URL_CHARACTERS)
        query = quote(parts.query, URL_CHARACTERS)
    except ValueError as error:
        raise Unservable(f"not a URL ({error})") from None
    if parts.scheme not in _DEFAULT_PORT:
        raise Unservable(f"the scheme {parts.scheme or 'of nothing'} is not http or https")
    if is_ip(host) or _NUMBER.fullmatch(host.rpartition(".")[2]):
        raise Unservable("its host is an IP address and not a name")
    if not _DNS_NAME.fullmatch(host) or len(host) > 253:
        raise Unservable("its host is not a DNS name")
    if is_local(host):
        raise Unservable(f"browsers look for {host} on their own machine")
    scheme = parts.scheme if keep_http else "https"
    own = port in (None, _DEFAULT_PORT[parts.scheme], _DEFAULT_PORT[scheme])
    if not own and port in _DEFAULT_PORT.values():
        raise Unservable(f"port {port} is another scheme's")
    # A browser that is redirected to "/?" requests that URL, and not "/".
    mark = "?" if "?" in url.partition("#")[0] else ""
    place = host if own else f"{host}:{port}"
    return f"{scheme}://{place}{path}{mark}{query}"


def servable_socket(url: str, *, keep_http: bool = False) -> str:
    """Return the URL at which the origin serves a WebSocket, ws or wss. Raises `Unservable`."""
    if not url.lower().startswith(("ws:", "wss:")):
        raise Unservable("its scheme is not ws or wss")
    return "ws" + servable("http" + url[2:], keep_http=keep_http).removeprefix("http")


def port_of(url: str) -> int:
    """Return the port of a servable URL."""
    parts = urlsplit(url)
    scheme = parts.scheme.replace("ws", "http", 1)
    return parts.port or _DEFAULT_PORT[scheme]
