"""Finds the requests that a browser sends without cookies and other credentials.

Chromium keeps such requests on separate connections (`PrivacyMode` of its network stack). By the
Fetch standard, every request without CORS carries credentials. Requests of fonts, scripts, modules
and elements with `crossorigin` use CORS, and carry credentials only to the document's own origin.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from urllib.parse import urlsplit

from dragstrip.pages.graph.align import AlignedRequest
from dragstrip.pages.graph.discovery import PlacedRequest, owners
from dragstrip.pages.graph.scene import Scene

_CORS = ("Font", "XHR", "Fetch", "EventSource")
_MULTIPLEXED = ("h2", "h3")


def by_rule(scene: Scene, asked: Sequence[PlacedRequest]) -> list[bool]:
    """Return whether each request carries credentials, as far as the page's structure shows."""
    found = owners(asked)
    return [
        _has(scene, one, None if owner is None else asked[owner])
        for one, owner in zip(asked, found, strict=True)
    ]


def by_visits(rule: Sequence[bool], rows: Sequence[AlignedRequest]) -> list[bool]:
    """Return whether each request carries credentials, according to `rule`, as corrected by visits.
    All requests on one connection are alike, even if `rule` differs for a few of them: scripts may
    choose to send credentials, which no markup shows."""
    votes: list[Counter[bool]] = [Counter() for _ in rows]
    for visit in range(len(rows[0].made) if rows else 0):
        together: dict[int, list[int]] = defaultdict(list)
        for index, row in enumerate(rows):
            request = row.made[visit]
            if request and request.connection and request.protocol in _MULTIPLEXED:
                together[request.connection].append(index)
        for members in together.values():
            alike = sum(rule[i] for i in members) * 2 >= len(members)
            for index in members:
                votes[index][alike] += 1
    return [v[True] >= v[False] if v else rule[i] for i, v in enumerate(votes)]


def _has(scene: Scene, one: PlacedRequest, owner: PlacedRequest | None) -> bool:
    """Return whether the request `one` carries credentials. `owner` is the document that makes
    it."""
    if owner is None or _origin(one.url) == _origin(owner.url):
        return True
    document = scene.document(owner.url)
    named = document.finds(one.url) if document and one.kind != "Document" else None
    return not (one.kind in _CORS or (named is not None and named.anonymous))


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc
