"""Checks that bodies came in the content coding that the stack claims."""

from collections.abc import Iterator, Sequence
from urllib.parse import urlsplit

from dragstrip.model.coding import CODED_STATUS, Coding
from dragstrip.model.page import Page, Resource
from dragstrip.model.stack import Stack
from dragstrip.model.visit import Reason, Request, Visit
from dragstrip.verdict.content_checks import by_request, recorded_for
from dragstrip.verdict.request_checks import some


def coded(visit: Visit, page: Page, stack: Stack) -> Iterator[Reason]:
    """Yield reasons if the browser did not receive exactly the bodies in that coding which the
    stack's server codes.

    Answers from a cache, parts of objects and lost answers are skipped.
    """
    if not (coding := stack.coding):
        return
    recorded = by_request(page)
    lies = [
        f"{request.url} ({request.coding or 'plain'})"
        for request in visit.requests
        if _arrived(request) and not _as_claimed(request, recorded_for(request, recorded), coding)
    ]
    if lies:
        yield Reason(
            "stack-drift",
            f"{len(lies)} answers did not come as {stack.compress} codes them: {some(lies)}",
        )


def _arrived(request: Request) -> bool:
    whole = request.status in CODED_STATUS and request.method != "HEAD"
    return bool(request.protocol) and whole and not (request.error or request.from_cache)


def _as_claimed(request: Request, known: Sequence[Resource], coding: Coding) -> bool:
    """Return whether the answer has the coding that the stack claims. An answer that is not
    recorded, or that stays as recorded, is always right."""
    secure = urlsplit(request.url).scheme == "https"
    claimed = {
        None
        if resource.decoded_bytes is None
        else coding.of(request.status, resource.mime, resource.decoded_bytes, secure=secure)
        for resource in known
    }
    return not claimed or None in claimed or request.coding in claimed
