"""Did the load end with the whole page?"""

from urllib.parse import urldefrag

from dragstrip.model.page import Page
from dragstrip.model.visit import Outcome, Visit
from dragstrip.verdict.request_checks import BY_THE_NETWORK


def outcome(visit: Visit, page: Page) -> Outcome:
    """What the stack did, from a visit's evidence.

    A browser fires the load event also when it has given up on an object. Such a load may end early
    because it fetched less, so it is `incomplete`.
    """
    if visit.outcome not in ("loaded", "incomplete"):
        return visit.outcome
    return "incomplete" if lost(visit, page) else "loaded"


def lost(visit: Visit, page: Page) -> tuple[str, ...]:
    """URLs of the page's objects that the network lost before the load event, and that no other
    request brought. Objects that some rehearsal did without do not count."""
    if visit.plt_ms is None:
        return ()
    places = range(len(page.resources)) if visit.rehearsed is None else visit.rehearsed
    wanted = {(page.resources[place].method, page.resources[place].url) for place in places}
    brought, missing = set(), {}
    for request in visit.requests:
        key = request.method, urldefrag(request.url).url
        if request.error in BY_THE_NETWORK:
            if request.end_ms is None or request.end_ms <= visit.plt_ms:
                missing[key] = key[1]
        elif not request.error:
            brought.add(key)
    return tuple(url for key, url in missing.items() if key in wanted - brought)
