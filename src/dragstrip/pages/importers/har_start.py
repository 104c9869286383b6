"""Explains why a HAR has no document to start a visit at, with one sentence per cause."""

from collections import Counter
from collections.abc import Sequence

from dragstrip.pages.format.recording import one_line
from dragstrip.pages.format.urls import Unservable, servable
from dragstrip.pages.importers.har_entry import HarExchange
from dragstrip.pages.importers.har_file import HarVisit
from dragstrip.pages.importers.kind import kind_of


def why_none(visited: HarVisit) -> str:
    """Return why the HAR has no start, and what to do."""
    documents = [x for x in visited.exchanges if kind_of(x) == "document"]
    if not documents:
        return _no_document(visited)
    answered = [x for x in documents if 200 <= x.status <= 599]
    if not answered:
        url, status = one_line(documents[0].url), documents[0].status
        return f"its document {url} was not answered (status {status}); record it again"
    first = answered[0]
    if reason := _unservable(answered):
        return f"its document {one_line(first.url)} cannot be served: {reason}; record another page"
    late = visited.load_ms is not None and first.start_ms > visited.load_ms
    if late:
        return (
            f"its document {one_line(first.url)} began at {first.start_ms:.0f} ms, after the load "
            f"event at {visited.load_ms:.0f} ms, so its times are wrong; remove "
            "pageTimings.onLoad from the HAR, or export it again"
        )
    return (
        f"its document {one_line(first.url)} belongs to a frame, and the page's own is not there; "
        "start the recorder before the page is opened"
    )


def _no_document(visited: HarVisit) -> str:
    if visited.others:
        return (
            "this page of the HAR has no document; choose one of the others: "
            f"{', '.join(visited.others[:6])}"
        )
    answered = [x for x in visited.exchanges if x.status == 200 and x.method == "GET"]
    if len(answered) == 1 and answered[0].mime:
        return (
            f"{one_line(answered[0].url)} is {answered[0].mime} and no HTML document; record a "
            "page that shows it"
        )
    kinds = Counter(kind_of(x) for x in visited.exchanges)
    held = ", ".join(f"{n} {kind}" for kind, n in kinds.most_common())
    return (
        f"it holds no document, only {held}; start the recorder before the page is opened, and "
        "export the HAR again"
    )


def _unservable(documents: Sequence[HarExchange]) -> str:
    """Return why none of these documents can be served; empty if one can."""
    reason = ""
    for document in documents:
        try:
            servable(document.url)
        except Unservable as error:
            reason = reason or str(error)
        else:
            return ""
    return reason
