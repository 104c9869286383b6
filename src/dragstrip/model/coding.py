"""A content coding (RFC 9110 section 8.4) that a server chooses itself, and what it codes."""

from typing import Literal

from msgspec import Struct

LEAST_BYTES = 256
"""A server leaves smaller bodies as they are: they gain less than a packet."""
CODED_STATUS = frozenset({200, 403, 404})
"""Statuses of answers that servers code (nginx, ngx_http_gzip_filter_module)."""
_TYPES = frozenset(
    (
        "application/javascript application/ecmascript application/x-javascript application/json "
        "application/xml application/xhtml+xml application/wasm application/graphql "
        "application/x-protobuf application/rtf application/vnd.ms-fontobject "
        "application/x-font-ttf application/x-font-otf application/font-sfnt "
        "font/ttf font/otf font/sfnt image/bmp image/x-icon image/vnd.microsoft.icon"
    ).split()
)
_LEVELS = {"gzip": range(1, 10), "br": range(12), "zstd": range(1, 20)}
_OVER_TLS_ALONE = ("br", "zstd")
"""Codings that browsers accept over https alone, because some proxies spoil them."""

CodingName = Literal["identity", "gzip", "br", "zstd"]


class Coding(Struct, frozen=True):
    name: CodingName
    """``identity`` codes nothing."""
    level: int = 0
    """Level of the coding's library: zlib, Brotli, Zstandard."""

    def of(self, status: int, mime: str, size: int, *, secure: bool = True) -> str | None:
        """The content-encoding of an answer with `size` bytes of body before coding, to a client
        that accepts all; empty for none, and None for one that stays as it was recorded."""
        if status not in CODED_STATUS or not compressible(mime):
            return None
        refused = not secure and self.name in _OVER_TLS_ALONE
        return "" if self.name == "identity" or size < LEAST_BYTES or refused else self.name


def parse_coding(text: str) -> Coding:
    """``gzip:6``, ``br:5``, ``zstd:3`` or ``identity``. Raises `ValueError`."""
    name, _, level = text.partition(":")
    if text == "identity":
        return Coding("identity")
    levels = _LEVELS.get(name)
    if levels is None or not level.isascii() or not level.isdigit() or int(level) not in levels:
        known = ", ".join(f"{n}:{r[0]} to {n}:{r[-1]}" for n, r in _LEVELS.items())
        raise ValueError(f"unknown content coding {text!r}; choose from {known}, identity")
    return Coding(name, int(level))  # type: ignore[arg-type]


def compressible(mime: str) -> bool:
    """Whether servers code this media type, as the usual lists of nginx and Caddy have it: text,
    scripts, data, SVG, WebAssembly, and fonts and pictures that are not compressed themselves."""
    return mime.startswith("text/") or mime.endswith(("+json", "+xml")) or mime in _TYPES
