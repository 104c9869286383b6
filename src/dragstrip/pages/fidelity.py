"""Compares a replayed visit with its recording: requests, bytes, hosts, order."""

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

from dragstrip.model.page import Page
from dragstrip.model.visit import Request


class Fidelity(Struct, frozen=True, kw_only=True):
    """How much of a page's recording a visit requested. Shares are 0..1."""

    recorded: int
    """Number of requests in the recording."""
    asked: int
    """Number of recorded requests that the visit made again. Requests match by method and URL; each
    repetition counts."""
    missed: tuple[str, ...]
    """URLs of the recording that the visit did not request."""
    invented: tuple[str, ...]
    """URLs that the visit requested although the recording lacks them."""
    hosts: int
    hosts_asked: int
    body_bytes: int
    """Bytes of all recorded bodies on the wire."""
    received_bytes: int
    """Bytes of the recorded bodies of objects that the visit requested."""
    order_tau: float | None
    """Kendall's tau-b between the recorded order of requests and the visit's; None with fewer than
    two requests."""

    @property
    def asked_share(self) -> float:
        return self.asked / self.recorded if self.recorded else 0.0

    @property
    def bytes_share(self) -> float:
        return self.received_bytes / self.body_bytes if self.body_bytes else 1.0


def fidelity(page: Page, requests: Sequence[Request]) -> Fidelity:
    """Score the requests of a visit, in any order, against the page's recording.

    A request counts if at least the beginning of its answer arrived. CORS preflights are not
    counted.
    """
    made = sorted((r for r in requests if r.method != "OPTIONS"), key=lambda r: r.start_ms)
    left: dict[tuple[str, str], list[int]] = {}
    for place, request in enumerate(made):
        left.setdefault((request.method, request.url.partition("#")[0]), []).append(place)
    recorded = [r for r in page.resources if r.method != "OPTIONS"]
    pairs: list[tuple[int, int]] = []
    missed, received = [], 0
    for index, resource in enumerate(recorded):
        places = left.get((resource.method, resource.url))
        if places:
            pairs.append((index, places.pop(0)))
            received += resource.body_bytes
        else:
            missed.append(resource.url)
    known = Counter((r.method, r.url) for r in recorded)
    invented = tuple(r.url for r in made if (r.method, r.url.partition("#")[0]) not in known)
    return Fidelity(
        recorded=len(recorded),
        asked=len(pairs),
        missed=tuple(missed),
        invented=invented,
        hosts=len({r.host for r in recorded}),
        hosts_asked=len({recorded[i].host for i, _ in pairs}),
        body_bytes=sum(r.body_bytes for r in recorded),
        received_bytes=received,
        order_tau=_tau(pairs),
    )


def _tau(pairs: list[tuple[int, int]]) -> float | None:
    if len(pairs) < 2:
        return None
    recorded, asked = zip(*pairs, strict=True)
    from scipy import stats  # loads slowly

    return float(stats.kendalltau(recorded, asked).statistic)
