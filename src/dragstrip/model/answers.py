"""Which answers have no body (RFC 9110 section 6.4.1)."""

_WITHOUT_BODY = frozenset({204, 205, 304})


def without_body(method: str, status: int) -> bool:
    """Return whether an answer with this status to a request with this method has no body."""
    return method == "HEAD" or status in _WITHOUT_BODY
