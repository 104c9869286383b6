"""Replaces hosts that no browser looks up: IP addresses, and localhost.

Firefox connects to such addresses directly, without the testbed's names, and no certificate for DNS
names covers them. So each such host gets a name, and URLs in the page's bodies are changed to that
name.
"""

import re
from collections.abc import Iterable
from functools import partial
from urllib.parse import urlsplit

from msgspec import structs

from dragstrip.pages.format.coding import encode_near
from dragstrip.pages.format.recording import Headers, Recorded
from dragstrip.pages.format.spool import SpooledExchange, whole
from dragstrip.pages.format.urls import is_ip, is_local

_TOP = "test"
"""A top level domain that does not exist on the internet (RFC 6761 section 6.2)."""
_TEXTS = re.compile(rb"text/|json|javascript|xml", re.IGNORECASE)


class LocalHosts:
    """Names that replace local hosts in URLs, even if JSON or queries escape the slashes. The
    object is falsy if there are no local hosts."""

    def __init__(self, urls: Iterable[str]) -> None:
        self._names = {h.encode(): n.encode() for h, n in _names(urls).items()}
        hosts = b"|".join(re.escape(host) for host in sorted(self._names, key=len, reverse=True))
        self._pattern = re.compile(rb"(//|\\/\\/|%2F%2F)(" + hosts + rb")(?![\w.-])", re.IGNORECASE)

    def __bool__(self) -> bool:
        return bool(self._names)

    @property
    def words(self) -> str:
        told = (f"{host.decode()} is {name.decode()}" for host, name in self._names.items())
        return (
            "browsers look up no IP address or localhost, so their hosts got names: "
            + ", ".join(told)
        )

    def text(self, text: str) -> str:
        return self._bytes(text.encode(errors="surrogateescape")).decode(errors="surrogateescape")

    def headers(self, headers: Headers) -> Headers:
        return tuple((name, self.text(value)) for name, value in headers)

    def answer(self, answer: Recorded) -> Recorded:
        """Return the answer with replaced hosts in its URLs and headers."""
        return structs.replace(
            answer,
            url=self.text(answer.url),
            initiator=self.text(answer.initiator),
            headers=self.headers(answer.headers),
            request_headers=self.headers(answer.request_headers),
        )

    def body(self, answer: Recorded) -> Recorded:
        """Return the answer with replaced hosts in its body, if that is text; otherwise the same
        object. Raises `CodingError`."""
        if not _TEXTS.search(answer.mime.encode()):
            return answer
        loaded = whole(answer)
        changed = self._bytes(loaded.body)
        if changed == loaded.body:
            return answer
        wire = encode_near(changed, answer.coding, len(loaded.wire))
        if wire is None:
            return answer
        if isinstance(answer, SpooledExchange):
            return structs.replace(answer, load=partial(bytes, wire))
        return structs.replace(answer, wire=wire)

    def _bytes(self, text: bytes) -> bytes:
        return self._pattern.sub(lambda m: m[1] + self._names[m[2].lower()], text)


def _names(urls: Iterable[str]) -> dict[str, str]:
    """Return the replacement names by host, in the notation of URLs."""
    found: dict[str, str] = {}
    for url in urls:
        try:
            host = urlsplit(url).hostname or ""
        except ValueError:
            continue  # not a URL: it is left out later
        if is_local(host):
            found[host] = f"{host}.{_TOP}"
        elif is_ip(host):
            spelt = f"[{host}]" if ":" in host else host
            found[spelt] = re.sub(r"[.:]+", "-", host).strip("-") + f".ip.{_TOP}"
    return found
