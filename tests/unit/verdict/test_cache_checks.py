"""An answer from the cache is right in a first visit if this visit's own wire brought it."""

import pytest
from msgspec import structs

import made
from dragstrip.model.servers import AccessLog, Server
from dragstrip.model.stack import Stack
from dragstrip.model.visit import Request, Visit
from dragstrip.verdict.cache_checks import cold

URL = made.PAGE.resources[1].url
COMMAND = ("./server",)
LOG = AccessLog(
    fields={
        name: name
        for name in ("ended", "took", "port", "protocol", "method", "host", "path", "status")
    }
)
LOGGED = Stack(
    name="x", protocol="h2", server="x", brought=Server(name="x", command=COMMAND, log=LOG)
)
SILENT = Stack(name="x", protocol="h2", server="x", brought=Server(name="x", command=COMMAND))


def preloaded(**changes: object) -> tuple[Visit, Request]:
    """A visit in which a 103 answer named a script: the browser then has it from its cache."""
    seen = made.visit()
    document, script, image = seen.requests
    hinted = structs.replace(
        script, from_cache=True, hinted=True, wire_bytes=0, connection=0, remote_ip="", **changes
    )
    return structs.replace(seen, requests=(document, hinted, image)), hinted


def served_late(seen: Visit, by_us: int) -> Visit:
    lines = (structs.replace(s, t_us=s.t_us + by_us) if s.url == URL else s for s in seen.served)
    return structs.replace(seen, served=tuple(lines))


def codes(seen: Visit, stack: Stack = LOGGED) -> set[str]:
    return {r.code for r in cold(seen, made.PAGE, stack)}


@pytest.mark.parametrize("hinted", [True, False])
def test_what_the_server_sent_before_its_use_is_of_this_visit(hinted):
    """Early hints, prefetches and speculation all count, whatever the browser calls them."""
    seen, _ = preloaded()
    told = tuple(structs.replace(r, hinted=hinted) for r in seen.requests)
    assert codes(structs.replace(seen, requests=told)) == set()


def test_what_the_server_never_sent_is_warm_though_hinted():
    """A hint for an object of another page, which an earlier visit left in the cache."""
    seen, _ = preloaded()
    left = tuple(s for s in seen.served if s.url != URL)
    assert codes(structs.replace(seen, served=left)) == {"warm"}


def test_what_the_server_sent_after_its_use_is_warm():
    seen, script = preloaded()
    asked_ms = next((s.t_us - seen.started_us) / 1000 for s in seen.served if s.url == URL)
    spare_us = round((script.end_ms - asked_ms) * 1000)
    assert codes(served_late(seen, spare_us - 1)) == set()
    assert codes(served_late(seen, spare_us)) == {"warm"}


@pytest.mark.parametrize("changes", [{"status": 304}, {"end_us": 0}])
def test_what_the_server_did_not_send_whole_is_warm(changes):
    seen, _ = preloaded()
    lines = (structs.replace(s, **changes) if s.url == URL else s for s in seen.served)
    assert codes(structs.replace(seen, served=tuple(lines))) == {"warm"}


def test_a_second_use_needs_no_second_answer():
    seen = made.visit()
    again = structs.replace(seen.requests[1], from_cache=True)
    unlogged = tuple(s for s in seen.served if s.url != URL)
    seen = structs.replace(seen, requests=(*seen.requests, again), served=unlogged)
    assert codes(seen) == set()


@pytest.mark.parametrize(("beyond", "said"), [(0, set()), (1, {"warm"})])
def test_without_a_log_the_link_must_have_carried_what_was_hinted(beyond, said):
    seen, _ = preloaded()
    needed = sum(r.wire_bytes for r in seen.requests) + made.PAGE.resources[1].body_bytes
    down = made.direction(far_ends=(made.far_end(bytes=needed - beyond),))
    seen = structs.replace(seen, served=(), link=structs.replace(seen.link, down=down))
    assert codes(seen, SILENT) == said


def test_without_a_log_an_answer_that_nothing_hinted_at_is_warm():
    seen, _ = preloaded()
    plain = tuple(structs.replace(r, hinted=False) for r in seen.requests)
    assert codes(structs.replace(seen, served=(), requests=plain), SILENT) == {"warm"}
