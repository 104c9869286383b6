"""Checks that the visit fetched the page's content: the same objects, with status, size and hash.

For each answer, the origin reports the hash of the recorded body it sent. The browser reports how
many body bytes it received, and the hash of a sample. Both are compared with the page.
"""

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from urllib.parse import urldefrag

from dragstrip.browsers.exchanges import ABORTED
from dragstrip.model.answers import without_body
from dragstrip.model.coding import compressible
from dragstrip.model.page import Page, Resource, address
from dragstrip.model.servers import OURS
from dragstrip.model.stack import Stack
from dragstrip.model.thresholds import Thresholds
from dragstrip.model.visit import MISDIRECTED, Outcome, Reason, Request, Served, Visit
from dragstrip.verdict.request_checks import is_lost, some

_PARTS = frozenset({206, 304, 416})
"""Other valid statuses for a complete recorded object: part of it, "not modified", and "no such
part"."""
_NO_SUCH_PART = 416
_ASK_AGAIN = frozenset({408, 425})
"""Statuses "request timeout" and "too early" (RFC 9110 section 15.5.9, RFC 8470). The browser
itself repeats a request with such an answer, and reports only the second answer."""
UNANSWERED = frozenset({-1, 0, 499})
"""Statuses that HAProxy, Caddy and nginx log if the client gave up before the answer."""

RecordedResources = Mapping[tuple[str, str], Sequence[Resource]]


def as_recorded(visit: Visit, page: Page, stack: Stack) -> Iterator[Reason]:
    """Yield reasons if an answer's status, size and hash match no recorded answer to its request,
    or if an upload that the page always makes did not arrive completely.

    Requests without a recorded answer are skipped: misses, CORS preflights, failures, answers that
    were in the cache before, and status 421, after which the browser sends the request again. If a
    server codes bodies itself, only the decoded body must be equal.
    """
    recorded = by_request(page)
    fetched: set[str] = set()
    said: list[tuple[str, str]] = []
    asked = Counter(map(_key, visit.served))
    excused = _excused(visit, recorded) if "content" in stack.untold else {}
    coding = stack.coding
    # For a request that the visit's end cut off, our origin logs the answer that it would have
    # sent. Another server may log that the client left.
    cut_off = {_key(r) for r in visit.requests if r.end_ms is None and not r.protocol}
    cut_off -= {_key(r) for r in visit.requests if r.protocol}
    cut_off = set() if stack.server == OURS else cut_off
    for served in visit.served:
        unasked = served.match in ("miss", "preflight") or served.status == MISDIRECTED
        known = () if unasked else recorded_for(served, recorded)
        again = visit.connection == "repeat-cached" or served.url in fetched
        if served.status in _ASK_AGAIN and asked[_key(served)] > 1:
            continue
        if _key(served) in cut_off:
            continue
        coded = coding and any(compressible(r.mime) for r in known)
        for lie, of_size in _sent(served, known, again=again):
            if of_size and coded:  # as large as the coding makes it; the browser counts the body
                continue
            largest = excused.get(_key(served)) if of_size else None
            if largest is None or served.body_bytes > largest:
                said.append((served.url, lie))
        fetched.add(served.url)
    yield from _mismatch("origin", said)
    statuses = _statuses(visit.served)
    unrecorded = {_key(s) for s in visit.served if s.match in ("miss", "preflight")}
    received = []
    sent_now = {s.url for s in visit.served}
    for request in visit.requests:
        here = not request.from_cache or (request.hinted and request.url in sent_now)
        arrived = request.protocol and not request.error and here
        if arrived and _key(request) not in unrecorded:
            lies = _received(request, recorded_for(request, recorded), statuses)
            received += [(request.url, lie) for lie in lies]
    yield from _mismatch("browser", received)


def complete(visit: Visit, page: Page, limits: Thresholds) -> Iterator[Reason]:
    """Yield a reason if a loaded visit did not request everything that each rehearsal fetched
    before the load event.

    A visit is not judged if one of these objects came after the load event or was lost by the
    network, because objects that depend on it may then be missing.
    """
    if visit.plt_ms is None or visit.rehearsed is None:
        return
    wanted = _wanted(visit, page)
    if behind(visit, wanted):
        return
    missing = sorted(url for _, url in wanted - asked_for(visit))
    if len(missing) > limits.missing_share * len(wanted):
        yield Reason(
            "content-mismatch",
            f"{len(missing)} of {len(wanted)} objects that the page fetched in its rehearsals were "
            f"not requested (limit {limits.missing_share:.0%}): {some(missing)}",
        )


def ended(visit: Visit, page: Page) -> tuple[Outcome, str]:
    """Return how the visit ended, from its evidence, and the browser's word for why.

    A browser fires the load event even after it has given up an object. Such a load may end early
    because it fetched less, so it is `incomplete`. Its error is that of most objects it lost.
    """
    if visit.outcome not in ("loaded", "incomplete"):
        return visit.outcome, visit.error
    errors = _lost(visit, page)
    return ("incomplete", Counter(errors).most_common(1)[0][0]) if errors else ("loaded", "")


def _lost(visit: Visit, page: Page) -> list[str]:
    """Return the errors of the page's objects that the network lost before the load event and no
    other request brought. Objects that some rehearsal did not fetch do not count."""
    if visit.plt_ms is None:
        return []
    failed = {
        _key(r): r.error
        for r in visit.requests
        if is_lost(r.error) and (r.end_ms is None or r.end_ms <= visit.plt_ms)
    }
    missing = failed.keys() - {_key(r) for r in visit.requests if not r.error}
    wanted = _wanted(visit, page) if missing else set()
    return [failed[key] for key in sorted(missing & wanted)]


def _wanted(visit: Visit, page: Page) -> set[tuple[str, str]]:
    """Return method and URL of the objects that every rehearsal fetched before the load event, or
    of all objects of the page if there was no rehearsal."""
    places = range(len(page.resources)) if visit.rehearsed is None else visit.rehearsed
    return {(r.method, r.url) for r in (page.resources[place] for place in places)}


def asked_for(visit: Visit) -> set[tuple[str, str]]:
    """Return method and URL of all requests that the browser or the server reports."""
    return {_key(r) for r in visit.requests} | {_key(s) for s in visit.served}


def behind(visit: Visit, wanted: Container[tuple[str, str]]) -> bool:
    """Return whether any of these requests was answered after the load event, or lost by the
    network."""
    load_ms = visit.plt_ms or 0.0
    return any(_late(r, load_ms) for r in visit.requests if _key(r) in wanted)


def _key(asked: Request | Served) -> tuple[str, str]:
    return asked.method, urldefrag(asked.url).url


def _late(request: Request, load_ms: float) -> bool:
    return is_lost(request.error) or request.end_ms is None or request.end_ms > load_ms


def by_request(page: Page) -> RecordedResources:
    """Return recorded answers by method and URL, and by method and address (URL without query) for
    requests with another query."""
    resources: dict[tuple[str, str], list[Resource]] = {}
    for resource in page.resources:
        for key in {resource.url, resource.address}:
            resources.setdefault((resource.method, key), []).append(resource)
    return resources


def recorded_for(asked: Request | Served, recorded: RecordedResources) -> Sequence[Resource]:
    """Return all recorded answers that may belong to this request."""
    method, url = _key(asked)
    for like in dict.fromkeys((method, "GET" if method == "HEAD" else method)):
        if known := recorded.get((like, url)) or recorded.get((like, address(url))):
            return known
    return ()


def _excused(visit: Visit, recorded: RecordedResources) -> dict[tuple[str, str], float]:
    """Return the most bytes of a body that a server may have logged, by method and URL, for answers
    whose size need not be the recorded one. For such an answer the browser received the whole body
    in any coding, gave the answer up, or lost it; or the visit ended before it."""
    most: dict[tuple[str, str], float] = {}
    for request in visit.requests:
        known = recorded_for(request, recorded)
        whole = {r.decoded_bytes for r in known} - {None}
        unended = not request.error and request.end_ms is None
        if request.error == ABORTED or is_lost(request.error) or unended:
            most.setdefault(_key(request), max((r.body_bytes for r in known), default=0))
        elif not request.error and (
            request.body_bytes in whole or (request.body_bytes is None and request.coding)
        ):
            most[_key(request)] = float("inf")
    return most


def _sent(served: Served, known: Sequence[Resource], *, again: bool) -> Iterator[tuple[str, bool]]:
    """Yield faults of an answer according to the server's log, each with whether the fault concerns
    the size."""
    if not known or served.status in UNANSWERED:
        return
    if not _possible(served.status, known) or (served.status == 304 and not again):
        yield f"status {served.status} instead of {_words(r.status for r in known)}", False
        return
    digests = {r.digest for r in known}
    if served.digest and "" not in digests and served.digest not in digests:
        yield f"body {served.digest} instead of {_words(digests)}", False
        return
    uploads = {r.upload_bytes for r in known}
    if served.received_us and served.received_bytes not in uploads and 0 not in uploads:
        yield f"{served.received_bytes} bytes of upload instead of {_words(uploads)}", False
        return
    sizes = {r.body_bytes for r in known} | {r.decoded_bytes or r.body_bytes for r in known}
    if without_body(served.method, served.status) or served.status == _NO_SUCH_PART:
        sizes = {0}
    part = served.status == 206 and served.body_bytes <= max(sizes)
    if served.end_us and not part and served.body_bytes not in sizes:
        yield f"{served.body_bytes} bytes of body instead of {_words(sizes)}", True


def _received(
    request: Request, known: Sequence[Resource], statuses: Mapping[tuple[str, str], set[int]]
) -> Iterator[str]:
    """Yield faults of an answer according to the browser."""
    if not known:
        return
    sent = statuses.get(_key(request), set())
    revalidated = 304 in sent  # after "not modified" the browser reports its earlier answer
    if not _possible(request.status, known):
        yield f"status {request.status} instead of {_words(r.status for r in known)}"
    elif sent and request.status not in sent and not revalidated:
        yield f"status {request.status}, while the origin sent {_words(sent)}"
    elif request.method != "HEAD" and request.status // 100 != 3 and request.status not in _PARTS:
        same = [r for r in known if r.status == request.status] or known
        sizes = {r.decoded_bytes for r in same}
        if request.body_bytes is not None and None not in sizes and request.body_bytes not in sizes:
            yield f"{request.body_bytes} bytes of body instead of {_words(sizes)}"
        digests = {r.digest for r in same}
        if request.digest and "" not in digests and request.digest not in digests:
            yield f"body {request.digest} instead of {_words(digests)}"


def _possible(status: int, known: Iterable[Resource]) -> bool:
    """Return whether a status is possible. A recorded 200 may be answered with a part or "not
    modified". A recorded part may be all that exists."""
    recorded = {r.status for r in known}
    whole = recorded & {200, 206}
    return status in recorded or (bool(whole) and status in _PARTS | {200})


def _statuses(served: Iterable[Served]) -> dict[tuple[str, str], set[int]]:
    sizes: dict[tuple[str, str], set[int]] = {}
    for one in served:
        if one.status not in UNANSWERED | _ASK_AGAIN:
            sizes.setdefault(_key(one), set()).add(one.status)
    return sizes


def _mismatch(who: str, said: Sequence[tuple[str, str]]) -> Iterator[Reason]:
    if said:
        lies = some(f"{url} ({lie})" for url, lie in said)
        yield Reason(
            "content-mismatch",
            f"{len(said)} answers differ from the page, according to the {who}: {lies}",
        )


def _words(values: Iterable[object]) -> str:
    return " or ".join(sorted({str(value) for value in values}))
