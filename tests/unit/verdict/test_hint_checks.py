"""The verdict on Early Hints of our own origin, by its log and the browser's."""

import pytest
from msgspec import structs

import made
from dragstrip.model.stack import Stack
from dragstrip.model.visit import Visit
from dragstrip.study.presets import find_stack
from dragstrip.verdict.hint_checks import early_hints

PLAIN = find_stack("h2")
HINTS = structs.replace(PLAIN, early_hints="blocking")
NGINX = find_stack("nginx-h2")


def visit(*, sent: bool, seen: bool, links: str = "", ahead_ms: int = 50, **changes) -> Visit:
    """A visit whose origin sent a 103 answer, and whose browser took notice of one."""
    good = made.visit("h2")
    document, *others = good.requests
    named = others[0].url
    links = links or f"<{named}>; rel=preload; as=script"
    served = tuple(
        structs.replace(
            s,
            hints=(links,) if sent and s.url == document.url else (),
            ready_us=s.t_us + ahead_ms * 1000,
        )
        for s in good.served
    )
    requests = (
        structs.replace(document, resource_type="Document"),
        structs.replace(others[0], hinted=seen),
        *others[1:],
    )
    return structs.replace(good, served=served, requests=requests, **changes)


def from_cache(seen: Visit) -> Visit:
    document, *others = seen.requests
    return structs.replace(seen, requests=(structs.replace(document, from_cache=True), *others))


@pytest.mark.parametrize(
    ("stack", "seen"),
    [
        (PLAIN, visit(sent=False, seen=False)),
        (HINTS, visit(sent=True, seen=True)),
        (HINTS, visit(sent=True, seen=False, links="<https://cdn.test>; rel=preconnect")),
        (HINTS, visit(sent=True, seen=False, links="</unused.css>; rel=preload; as=style")),
        (HINTS, visit(sent=True, seen=False, ahead_ms=1)),  # read with the answer
        (HINTS, visit(sent=False, seen=False, outcome="failed")),
        (HINTS, from_cache(visit(sent=False, seen=False))),
        (NGINX, visit(sent=False, seen=True)),  # it decides by itself, and logs nothing
        (NGINX, visit(sent=False, seen=False)),
    ],
)
def test_what_is_as_the_stack_claims_is_believed(stack: Stack, seen: Visit):
    assert list(early_hints(seen, stack)) == []


@pytest.mark.parametrize(
    ("stack", "seen", "said"),
    [
        (HINTS, visit(sent=True, seen=False), "the browser took no notice"),
        (HINTS, visit(sent=False, seen=False), "the origin sent none"),
        (HINTS, visit(sent=False, seen=True), "the origin sent none"),
        (PLAIN, visit(sent=True, seen=True), "has no Early Hints, but a 103 answer named"),
        (PLAIN, visit(sent=False, seen=True), "has no Early Hints, but a 103 answer named"),
        (PLAIN, visit(sent=True, seen=False), "has no Early Hints, but a 103 answer named"),
    ],
)
def test_each_lie_about_early_hints_is_drift(stack: Stack, seen: Visit, said: str):
    (reason,) = early_hints(seen, stack)
    assert reason.code == "stack-drift"
    assert said in reason.detail
