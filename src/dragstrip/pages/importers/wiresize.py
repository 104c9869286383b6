"""Determines the length of a body on the wire from the most reliable field of a HAR."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import median
from typing import Literal

from msgspec import Struct

from dragstrip.model.answers import without_body
from dragstrip.pages.format.coding import encode
from dragstrip.pages.format.recording import header
from dragstrip.pages.importers.har_entry import HarExchange
from dragstrip.pages.importers.sentences import listed

SizeField = Literal[
    "bodySize", "Content-Length", "_transferSize", "content.size", "an estimate", "nothing"
]
_USUAL = {"gzip": 6, "br": 5, "zstd": 3, "deflate": 6}
"""Levels at which servers commonly compress on the fly."""
_RATIO = 0.3
"""Assumed ratio of a compressed body to its text if the HAR does not show one."""
_LEAST_RATIOS = 5


class WireSize(Struct, frozen=True):
    size: int
    field: SizeField


def wire_sizes(exchanges: Sequence[HarExchange]) -> list[WireSize]:
    """Return lengths of bodies on the wire. For an answer from a cache, this is the length that a
    transfer would have had.

    HARs differ, so these fields are tried in order:

    - ``bodySize``, if the recorder counts headers separately (`headersSize` is known): then it was
      measured.
    - ``Content-Length``: exact, from the server. Chromium's exports over HTTP/2 give one number for
      headers and body together, in `_transferSize` or in `bodySize`. A smaller `bodySize` takes
      precedence, because then only that much arrived. So does a smaller ``content.size`` if the
      answer is a part (status 206) or not text. A length of 0 is ignored if a body came.
    - ``bodySize``, then ``_transferSize``, which may count the headers in, some hundred bytes.
    - ``content.size``, the decoded length: all that is known of an answer from a cache. If it was
      compressed, its length is estimated: by compressing it again, or, without its body, by the
      ratio that other answers of the HAR have.
    """
    found = [_said(x) for x in exchanges]
    ratios: dict[str, list[float]] = defaultdict(list)
    for exchange, size in zip(exchanges, found, strict=True):
        if size and size.size and exchange.content_bytes and _coding(exchange):
            ratios[_coding(exchange)].append(min(1.0, size.size / exchange.content_bytes))
    known = {c: median(r) for c, r in ratios.items() if len(r) >= _LEAST_RATIOS}
    return [s or _estimate(x, known) for x, s in zip(exchanges, found, strict=True)]


def sentences(exchanges: Sequence[HarExchange], sizes: Sequence[WireSize]) -> list[str]:
    """Return sentences on how many sizes came from which field, and how many are unknown."""
    said = [f"sizes on the wire are taken from: {_told(sizes)}"]
    both = zip(exchanges, sizes, strict=True)
    if estimated := [x.url for x, size in both if size.field == "an estimate"]:
        said.append(
            f"{len(estimated)} sizes on the wire are estimates, by compressing again or by the "
            "ratio of other answers, because the recording has only the decoded length: "
            f"{listed(estimated)}"
        )
    return said


def _told(sizes: Iterable[WireSize]) -> str:
    counts: dict[SizeField, int] = defaultdict(int)
    for size in sizes:
        if size.field != "nothing":
            counts[size.field] += 1
    ordered = sorted(counts.items(), key=lambda c: -c[1])
    return ", ".join(f"{field} {n}" for field, n in ordered) or "nothing, all bodies are empty"


def _said(exchange: HarExchange) -> WireSize | None:
    """Return the length on the wire from the HAR; None if it only has the decoded length of a
    compressed body."""
    method, status = exchange.method, exchange.status
    if without_body(method, status) and (method == "HEAD" or not exchange.cached):
        return WireSize(0, "nothing")
    measured = None if exchange.cached else exchange.body_bytes
    plausible = measured is not None and (measured > 0 or not exchange.content_bytes)
    if measured is not None and plausible and exchange.headers_bytes:
        return WireSize(measured, "bodySize")
    length = _content_length(exchange)
    if length is not None:
        arrived = _arrived(exchange)
        if arrived is not None and arrived < length:
            return WireSize(arrived, "content.size")
        return WireSize(min(length, measured or length), "Content-Length")
    if measured:
        return WireSize(measured, "bodySize")
    if exchange.transfer_bytes and not exchange.cached:
        return WireSize(exchange.transfer_bytes, "_transferSize")
    if not exchange.content_bytes:
        return WireSize(0, "nothing")
    return None if _coding(exchange) else WireSize(exchange.content_bytes, "content.size")


def _content_length(exchange: HarExchange) -> int | None:
    said = header(exchange.headers, "content-length").strip()
    if not (said.isascii() and said.isdecimal() and len(said) < 12):
        return None
    came = exchange.content_bytes
    if came and (exchange.status == 304 or int(said) == 0):
        return None  # of a 304, the length may say nothing
    return int(said)


def _arrived(exchange: HarExchange) -> int | None:
    """Return how many bytes arrived of an uncompressed body, if the HAR's ``content.size``
    certainly counts bytes; otherwise None."""
    counts_bytes = exchange.status == 206 or not _is_text(exchange.mime)
    whole = exchange.content_bytes and counts_bytes and not _coding(exchange)
    return exchange.content_bytes if whole else None


def _estimate(exchange: HarExchange, ratios: dict[str, float]) -> WireSize:
    coding, decoded = _coding(exchange), exchange.content_bytes or 0
    if exchange.content and coding in _USUAL:
        packed = encode(exchange.content, coding, _USUAL[coding])
        return WireSize(len(packed), "an estimate")
    return WireSize(round(decoded * ratios.get(coding, _RATIO)), "an estimate")


def _coding(exchange: HarExchange) -> str:
    coding = header(exchange.headers, "content-encoding").strip().lower()
    return "" if coding == "identity" else coding


def _is_text(mime: str) -> bool:
    return mime.startswith("text/") or any(w in mime for w in ("json", "javascript", "xml"))
