"""Reads response bodies back from the browser after a load, to check the content it received.

DevTools send bodies in base64, which costs some 15 ms per megabyte, so a visit reads only a sample.
The block's seed draws the sample: all stacks of a block read the same objects, other blocks read
others.
"""

import base64
import hashlib
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from msgspec import structs

from dragstrip.browsers.cdp import Cdp
from dragstrip.browsers.errors import BrowserError
from dragstrip.browsers.exchanges import Exchange
from dragstrip.model.page import digest_of
from dragstrip.model.visit import Request

MOST_BODIES = 8
MOST_BYTES = 100_000
"""Most bytes read of a visit's bodies. docs/reference/verdicts.md says what reading costs."""
_PATIENCE_S = 0.01
"""Longest wait for a body, in s. A busy page answers late, and this bounds the cost."""


def with_digests(
    cdp: Cdp, session: str, exchanges: Iterable[Exchange], seed: int
) -> tuple[Exchange, ...]:
    """Return the exchanges, with the digest of the body for those in the sample. If the browser
    does not deliver a body within 10 ms, its exchange gets no digest. Raises `BrowserError` if the
    browser ended."""
    every = tuple(exchanges)
    asked = {
        e.id: cdp.send("Network.getResponseBody", session, requestId=e.id)
        for e in sample(every, seed)
    }
    deadline = time.monotonic() + _PATIENCE_S
    while not all(map(cdp.answered, asked.values())) and cdp.pump(deadline):
        pass
    found = {}
    for request, number in asked.items():
        if cdp.answered(number):
            found[request] = _body(cdp, number)
        else:
            cdp.forget(number)
    return tuple(_with_digest(e, found.get(e.id)) for e in every)


def _decoded(request: Request) -> int | None:
    return request.body_bytes


def sample(
    exchanges: Iterable[Exchange],
    seed: int,
    size_of: Callable[[Request], int | None] = _decoded,
) -> Iterator[Exchange]:
    """Yield answers whose bodies to read, in an order drawn by the seed, up to `MOST_BODIES` and
    `MOST_BYTES`. A redirect shares its id with the next answer, so ids that occur twice are left
    out."""
    every = list(exchanges)
    ids = [e.id for e in every]
    left = MOST_BYTES
    drawn = sorted(every, key=lambda e: hashlib.sha256(f"{seed} {e.request.url}".encode()).digest())
    count = 0
    for exchange in drawn:
        request = exchange.request
        size = size_of(request)
        ended_well = request.status == 200 and not (request.error or request.from_cache)
        if not (ended_well and size and size <= left and ids.count(exchange.id) == 1):
            continue
        yield exchange
        left -= size
        count += 1
        if count == MOST_BODIES:
            return


def _body(cdp: Cdp, number: int) -> bytes | None:
    try:
        answer: dict[str, Any] = cdp.result_of(number, "Network.getResponseBody")
    except BrowserError:  # the browser did not keep the body
        return None
    if answer["base64Encoded"]:
        return base64.b64decode(answer["body"])
    text: str = answer["body"]
    return text.encode(errors="surrogatepass")


def _with_digest(exchange: Exchange, body: bytes | None) -> Exchange:
    """Return the exchange with the digest of its body, if the body has the right length. DevTools
    return text as the browser decoded it. So the length is wrong for a body that was not UTF-8, or
    that began with a byte order mark."""
    if body is None or len(body) != exchange.request.body_bytes:
        return exchange
    request = structs.replace(exchange.request, digest=digest_of(body))
    return structs.replace(exchange, request=request)
