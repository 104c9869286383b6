"""How many bytes a body took on the wire, by the field of a HAR that says so best."""

from typing import Literal

from msgspec import Struct

from dragstrip.pages.format.recording import header
from dragstrip.pages.importers.har_file import HarExchange

SizeField = Literal["bodySize", "Content-Length", "_transferSize", "content.size", "nothing"]
_BODILESS = (204, 205, 304)


class WireSize(Struct, frozen=True):
    size: int
    field: SizeField


def wire_size(exchange: HarExchange) -> WireSize:
    """Length of the body as it crossed, or from a cache would have crossed, the wire.

    HARs differ, so in this order:

    - ``bodySize``, if the recorder counts headers apart (`headersSize` is known): it was measured.
    - ``Content-Length``: the server's word, exact. Chromium's exports over HTTP/2 give one number
      for headers and body together, in `_transferSize` or in `bodySize`. A smaller `bodySize` wins,
      for then only so much arrived.
    - ``bodySize``, then ``_transferSize``, which may count the headers in, some hundred bytes.
    - ``content.size``, the decoded length: all that is known of an answer from a cache.
    """
    if (exchange.status in _BODILESS and not exchange.cached) or exchange.method == "HEAD":
        return WireSize(0, "nothing")
    measured = None if exchange.cached else exchange.body_bytes
    plausible = measured is not None and (measured > 0 or not exchange.content_bytes)
    if measured is not None and plausible and exchange.headers_bytes:
        return WireSize(measured, "bodySize")
    said = header(exchange.headers, "content-length").strip()
    if (
        said.isascii()
        and said.isdecimal()
        and len(said) < 12
        and not (exchange.status == 304 and exchange.content_bytes)
    ):
        return WireSize(min(int(said), measured or int(said)), "Content-Length")
    if measured:
        return WireSize(measured, "bodySize")
    if exchange.transfer_bytes and not exchange.cached:
        return WireSize(max(0, exchange.transfer_bytes), "_transferSize")
    if exchange.content_bytes:
        return WireSize(exchange.content_bytes, "content.size")
    return WireSize(0, "nothing")
