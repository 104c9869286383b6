"""Checks that Early Hints (answers with status 103, RFC 8297) reached the browser as the stack
claims."""

from collections.abc import Iterator
from urllib.parse import urldefrag

from dragstrip.model.links import preloads
from dragstrip.model.servers import OURS
from dragstrip.model.stack import Stack
from dragstrip.model.visit import Reason, Visit
from dragstrip.verdict.request_checks import some

_AHEAD_US = 10_000
"""Time in us: Chromium ignores a 103 answer that precedes the final answer by less, because it
reads both together."""


def early_hints(visit: Visit, stack: Stack) -> Iterator[Reason]:
    """Yield reasons if our origin did not send hints exactly when the stack asks for them, or if
    the browser did not see them.

    Other servers decide themselves what they send; the report gives the share of answers that hints
    named.
    """
    if stack.server != OURS:
        return
    seen = [r.url for r in visit.requests if r.hinted]
    named = {url for s in visit.served for url in preloads(s.url, s.hints)}
    if stack.early_hints == "none":
        if seen or named:
            yield Reason(
                "stack-drift",
                f"the stack has no Early Hints, but a 103 answer named {some(seen or named)}",
            )
        return
    ahead = {
        url
        for s in visit.served
        if (s.ready_us or 0) - s.t_us >= _AHEAD_US
        for url in preloads(s.url, s.hints)
    }
    asked = [r for r in visit.requests if urldefrag(r.url).url in ahead]
    if asked and not seen:
        yield Reason(
            "stack-drift",
            "the stack has Early Hints, but the browser took no notice of the 103 answer that "
            f"named {some(r.url for r in asked)}",
        )
    elif not any(s.hints for s in visit.served) and _asked_for_document(visit):
        yield Reason("stack-drift", "the stack has Early Hints, but the origin sent none")


def _asked_for_document(visit: Visit) -> bool:
    """Return whether the browser requested the document over a protocol with 103 answers. A
    document from a cache needs no answer."""
    documents = (r for r in visit.requests if r.resource_type == "Document")
    first = next(documents, None)
    asked = first is not None and not first.from_cache and first.protocol in ("h2", "h3")
    return visit.outcome == "loaded" and asked
