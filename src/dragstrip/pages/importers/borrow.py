"""What a visit had from the cache of an earlier one: crawlers fetch a style sheet once."""

from collections.abc import Sequence

from msgspec import structs

from dragstrip.pages.format.recording import EPOCH, HTML, Recorded
from dragstrip.pages.importers.named import named


def borrowed(exchanges: Sequence[Recorded], own: Sequence[int]) -> list[Recorded]:
    """Answers of other visits that the documents and style sheets of `own` name and that it lacks,
    as if they had been asked for when the visit began."""
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
    for at in left:  # which grows
        for url, way in named(exchanges[at]):
            index = others.get(url)
            if index is None or url in known or (exchanges[index].mime in HTML and way != "frame"):
                continue
            known.add(url)
            left.append(index)
            found.append(structs.replace(exchanges[index], started=began))
    return found
