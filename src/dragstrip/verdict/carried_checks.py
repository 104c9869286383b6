"""Checks that handshakes carried the key share and the certificates that the stack claims. The
origin's log and the browser both report a handshake. What neither reports stays unchecked, as do
properties that the stack's server decides itself."""

from collections import Counter
from collections.abc import Iterator
from urllib.parse import urlsplit

from dragstrip.model.stack import Stack
from dragstrip.model.visit import Connection, Reason, Request, Visit

_LEAST = {"ecdsa": 250, "rsa": 600, "ml-dsa-44": 1312 + 2420, "ml-dsa-65": 1952 + 3309}
"""Least size in bytes of a certificate: public key and signature (FIPS 204, table 2), for ECDSA and
RSA with a name and an issuer."""


def carried(visit: Visit, stack: Stack) -> Iterator[Reason]:
    """Yield reasons if a handshake had another key share or other certificates than the stack's, or
    if Retry packets were missing or too many."""
    connections = [c for c in visit.connections if c.secure and not c.error]
    lies = Counter(lie for c in connections for lie in _of_log(c, stack))
    for lie, times in lies.items():
        yield Reason("stack-drift", f"{lie} ({times} of {len(connections)} connections)")
    seen = Counter(lie for r in visit.requests if _fresh(r) for lie in _of_browser(r, stack))
    for lie, times in seen.items():
        yield Reason("stack-drift", f"{lie}, as the browser reports of {times} requests")
    yield from _retried(visit, stack)


def _of_log(connection: Connection, stack: Stack) -> Iterator[str]:
    own = stack.own
    if "key_share" not in own and connection.key_share not in (None, stack.key_share):
        yield f"keys were exchanged in {connection.key_share}, not {stack.key_share}"
    if connection.ech not in (None, stack.ech != "none"):
        yield _hello(bool(connection.ech))
    if connection.certificate is None:
        return
    for what, told, asked in (
        ("the certificates are {}", connection.certificate, stack.certificate),
        ("the chain has {} certificates", connection.chain_length, stack.chain_length),
        ("the leaf has {} SCTs", connection.scts, stack.scts),
        (
            "the certificates' compression is {}",
            connection.certificate_compression,
            stack.certificate_compression,
        ),
    ):
        if told != asked:
            yield f"{what.format(told)}, not {asked}"
    staple = connection.staple_bytes or 0
    if staple < stack.staple_bytes or (staple and not stack.staple_bytes):
        yield f"the OCSP staple has {staple} bytes, not {stack.staple_bytes}"
    yield from _too_small(connection.certificate_bytes, stack)


def _of_browser(request: Request, stack: Stack) -> Iterator[str]:
    if "key_share" not in stack.own and request.key_share not in ("", stack.key_share):
        yield f"keys were exchanged in {request.key_share}, not {stack.key_share}"
    keys = "ecdsa" if stack.certificate.endswith("-size") else stack.certificate
    if request.ech not in (None, stack.ech != "none"):
        yield _hello(bool(request.ech))
    if request.signed_by not in ("", keys):
        yield f"the server signed with {request.signed_by}, not {keys}"
    yield from _too_small(request.certificate_bytes, stack)
    asked = stack.certificate_bytes or 0
    if request.certificate_bytes is not None and request.certificate_bytes < asked:
        yield f"the certificate chain has {request.certificate_bytes} bytes, not {asked}"


def _hello(encrypted: bool) -> str:
    return f"the ClientHello was {'' if encrypted else 'not '}encrypted"


def _too_small(bytes_shown: int | None, stack: Stack) -> Iterator[str]:
    """Yield a fault if the chain is smaller than its keys and signatures allow."""
    least = stack.chain_length * _LEAST[stack.certificate.removesuffix("-size")]
    if bytes_shown is not None and bytes_shown < least:
        yield f"the certificate chain has {bytes_shown} bytes, and {stack.certificate} has {least}"


def _fresh(request: Request) -> bool:
    https = urlsplit(request.url).scheme == "https"
    return https and request.protocol is not None and not request.from_cache


def _retried(visit: Visit, stack: Stack) -> Iterator[Reason]:
    """Yield reasons about Retry. Only a client without a token gets one: in a first visit, that is
    each host's first connection."""
    over_quic = [c for c in visit.connections if c.protocol == "h3" and c.retried is not None]
    if not stack.retry:
        if many := sum(bool(c.retried) for c in over_quic):
            yield Reason("stack-drift", f"{many} connections got a Retry, but the stack has none")
        return
    first: dict[str | None, Connection] = {}
    for connection in sorted(over_quic, key=lambda c: c.t_us):
        first.setdefault(connection.host, connection)
    without = [str(host) for host, c in first.items() if not (c.retried or c.resumed or c.error)]
    if visit.connection == "first" and without:
        yield Reason("stack-drift", f"no Retry was sent to the client of {', '.join(without)}")
