"""Estimates how long servers took to answer, from the times in a HAR."""

from collections import defaultdict
from collections.abc import Sequence
from urllib.parse import urlsplit

from dragstrip.pages.importers.har_entry import HarExchange
from dragstrip.pages.importers.sentences import listed


def think_times(exchanges: Sequence[HarExchange]) -> list[float | None]:
    """Return the think time of each answer in ms: its ``wait`` minus the round trip to its host.
    The round trip is taken to be the least of the host's connects (without TLS) and waits. So the
    think time is 0 for a host that answered once over an open connection, as with `page record`. It
    is None for answers from a cache and for entries without ``wait``."""
    trips: dict[str, list[float]] = defaultdict(list)
    for exchange in exchanges:
        if not exchange.cached:
            times = (exchange.connect_ms, exchange.wait_ms)
            trips[_host(exchange)] += [t for t in times if t is not None and t > 0]
    return [
        None
        if x.cached or x.wait_ms is None
        else round(max(0.0, x.wait_ms - min(trips[_host(x)], default=0.0)), 3)
        for x in exchanges
    ]


def think_sentences(exchanges: Sequence[HarExchange], thinks: Sequence[float | None]) -> list[str]:
    """Return sentences on how the think times were determined; none if there are no think times."""
    both = zip(exchanges, thinks, strict=True)
    known = [(x, think) for x, think in both if think is not None]
    if not known:
        return []
    timed = {_host(x) for x in exchanges if x.connect_ms is not None}
    untimed = sorted({_host(x) for x, _ in known} - timed)
    said = (
        f"servers took up to {max(t for _, t in known):.0f} ms to answer, round trips left out; a "
        "study with think_time plays that"
    )
    if untimed:
        said += (
            f". The HAR times no connect to {listed(untimed)}, so the least wait there counts as "
            "the round trip"
        )
    return [said]


def _host(exchange: HarExchange) -> str:
    try:
        return urlsplit(exchange.url).netloc.lower()
    except ValueError:
        return exchange.url
