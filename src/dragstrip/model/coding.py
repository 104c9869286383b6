"""Content codings (RFC 9110 section 8.4) that a stack sets for all answers."""

from typing import Literal

from msgspec import Struct

LEAST_BYTES = 256
"""Servers leave smaller bodies as they are: coding them would save less than a packet."""
CODED_STATUS = frozenset({200, 403, 404})
"""Statuses of answers that servers encode (nginx, ngx_http_gzip_filter_module)."""
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
"""Codings that browsers accept only over https, because some proxies corrupt them."""

CodingName = Literal["identity", "gzip", "br", "zstd"]


class Coding(Struct, frozen=True):
    name: CodingName
    """Name of the coding; ``identity`` means none."""
    level: int = 0
    """Compression level of zlib, Brotli or Zstandard."""

    def of(self, status: int, mime: str, size: int, *, secure: bool = True) -> str | None:
        """Return the Content-Encoding of an answer to a client that accepts all codings. `size` is
        the bytes of the answer's body before coding. Empty means no coding; None means that the
        answer stays as recorded."""
        if status not in CODED_STATUS or not compressible(mime):
            return None
        refused = not secure and self.name in _OVER_TLS_ALONE
        return "" if self.name == "identity" or size < LEAST_BYTES or refused else self.name


def parse_coding(text: str) -> Coding:
    """Parse a coding such as ``gzip:6``, ``br:5``, ``zstd:3`` or ``identity``. Raises
    `ValueError`."""
    name, _, level = text.partition(":")
    if text == "identity":
        return Coding("identity")
    levels = _LEVELS.get(name)
    if levels is None or not level.isascii() or not level.isdigit() or int(level) not in levels:
        known = ", ".join(f"{n}:{r[0]} to {n}:{r[-1]}" for n, r in _LEVELS.items())
        raise ValueError(f"unknown content coding {text!r}; choose from {known}, identity")
    return Coding(name, int(level))  # type: ignore[arg-type]


def compressible(mime: str) -> bool:
    """Return whether servers encode this media type by the usual lists of nginx and Caddy: text,
    scripts, data, SVG, WebAssembly, and fonts and pictures that are not compressed already."""
    return mime.startswith("text/") or mime.endswith(("+json", "+xml")) or mime in _TYPES
