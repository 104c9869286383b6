"""Adds to a visit the answers that it got from the cache: crawlers fetch a style sheet only
once."""

from collections.abc import Sequence

from msgspec import structs

from dragstrip.pages.format.recording import EPOCH, HTML, Recorded
from dragstrip.pages.importers.named import named


def borrowed(exchanges: Sequence[Recorded], own: Sequence[int]) -> list[Recorded]:
    """Return answers of other visits that documents and style sheets of this visit name and that
    this visit lacks. Their start time becomes that of the visit. `own` are the indices of this
    visit's exchanges."""
    if len(own) == len(exchanges):
        return []
    known = {exchanges[i].url.partition("#")[0] for i in own}
    others: dict[str, int] = {}
    for place, exchange in enumerate(exchanges):
        if exchange.method == "GET":
            others.setdefault(exchange.url.partition("#")[0], place)
    began = min((exchanges[i].started for i in own), default=EPOCH)
    left = list(own)
    found: list[Recorded] = []
    for at in left:  # the list grows
        for url, way in named(exchanges[at]):
            index = others.get(url)
            if index is None or url in known or (exchanges[index].mime in HTML and way != "frame"):
                continue
            known.add(url)
            left.append(index)
            found.append(structs.replace(exchanges[index], started=began))
    return found
