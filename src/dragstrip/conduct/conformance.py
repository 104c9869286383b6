"""Checks by visits in a real browser which features of a race a server supports."""

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct, structs

from dragstrip.execution.session import Session, open_session
from dragstrip.model.network import Network
from dragstrip.model.page import Page
from dragstrip.model.servers import Server
from dragstrip.model.stack import ConnectionMode, Stack
from dragstrip.model.study import Block, Client, Study
from dragstrip.model.visit import ReasonCode, Visit
from dragstrip.pages.generators.ranges import AS_ASKED
from dragstrip.study.servers import stack_on
from dragstrip.testbed.errors import TestbedError
from dragstrip.verdict.early_checks import hurried, unused
from dragstrip.verdict.judge import with_verdict
from dragstrip.visit.drive import VisitPlan

_NETWORK = Network.parse("50mbit/50mbit/10ms/0%/200ms")
"""Fast, with a round trip long enough to detect early data."""
_OTHER_CONTROL = "reno"


class ConformanceResult(Struct, frozen=True, kw_only=True):
    """The result of one test. `unknown` means that it cannot be checked, not that it failed."""

    protocol: str
    what: str
    outcome: Literal["yes", "no", "unknown"]
    said: str = ""


def conformance(server: Server, page: Page, parts: Page) -> Iterator[ConformanceResult]:
    """Test each protocol of the server; yields each result at once. `parts` is the page of
    `dragstrip.pages.generators.ranges`. Raises `TestbedError` only if the testbed breaks; a server
    that does not start is a result."""
    for protocol in server.protocols:
        stack = stack_on(server, protocol)
        study = Study(
            name="check",
            pages=(page, parts),
            networks=(_NETWORK,),
            stacks=(stack,),
            runs=1,
            seed=1,
            client=Client(timeout_s=30),
        )
        try:
            with open_session(study) as session:
                yield from _tried(session, study, stack)
        except TestbedError as error:
            yield ConformanceResult(
                protocol=protocol, what="starts and serves", outcome="no", said=str(error)
            )


def _tried(session: Session, study: Study, stack: Stack) -> Iterator[ConformanceResult]:
    page = study.pages[0]
    first, again = (_visit(session, study, stack, mode) for mode in ("first", "repeat"))

    def found(what: str, visit: Visit, codes: set[ReasonCode], said: str = "") -> ConformanceResult:
        against = [r.detail for r in visit.reasons if r.code in codes]
        against += [visit.error or visit.outcome] if visit.outcome != "loaded" else []
        outcome: Literal["yes", "no"] = "no" if against else "yes"
        return ConformanceResult(
            protocol=stack.protocol, what=what, outcome=outcome, said="; ".join(against) or said
        )

    def unknown(what: str, why: str) -> ConformanceResult:
        return ConformanceResult(protocol=stack.protocol, what=what, outcome="unknown", said=why)

    yield found("speaks it on every request", first, {"fallback", "mixed"})
    objects = f"{len(page.resources)} objects"
    yield found(
        "sends every object as recorded", first, {"content-mismatch", "replay-miss"}, objects
    )
    yield found("the first visit is cold", first, {"warm"})
    if why := stack.untold.get("handshakes"):
        yield unknown("a repeat visit resumes", f"its log does not show {why}")
    else:
        yield found("a repeat visit resumes", again, {"stack-drift"})
    yield found(
        "a repeat visit is served as well", again, {"fallback", "mixed", "content-mismatch"}
    )
    if why := stack.untold.get("requests"):
        yield unknown("its log agrees with the browser", f"nothing shows {why}")
    else:
        yield found("its log agrees with the browser", first, {"stack-drift", "clock-jump"})
    yield from _early(session, study, stack, again)
    asked = {r.url for r in _visit(session, study, stack, "first", study.pages[1]).requests}
    yield ConformanceResult(
        protocol=stack.protocol,
        what="sends the part of an object that is asked for",
        outcome="yes" if AS_ASKED in asked else "no",
        said="" if AS_ASKED in asked else "a Range was not answered by 206 and its bytes",
    )
    if stack.transport == "tcp":
        other = structs.replace(stack, congestion=_OTHER_CONTROL)
        yield found(
            "takes the kernel's congestion control",
            _visit(session, study, other, "first"),
            {"stack-drift"},
            f"{', '.join(sorted(set(first.congestion)))} and {_OTHER_CONTROL}, as asked",
        )
    else:
        yield unknown("congestion control", "QUIC's is the server's own")


def _early(
    session: Session, study: Study, stack: Stack, again: Visit
) -> Iterator[ConformanceResult]:
    """Check whether the server accepts early data: a repeat visit's first request goes out with the
    first message of the handshake. The server's log, the link and the times show it. Yields no
    result for a server that is known to have no early data."""
    serving, what = stack.serving, "takes early data on a repeat visit"
    may_choose = serving.fixed.get(stack.transport, {}).get("early_data") is None
    own = "early_data" in stack.own
    if not (stack.early_data or own or may_choose) or not stack.resumption:
        return
    asked = structs.replace(stack, early_data=True) if may_choose and not own else stack
    visit = again if asked is stack else _visit(session, study, asked, "repeat")
    document = next((r for r in visit.requests if r.url == study.pages[0].url), None)
    against = [r.detail for r in unused(visit, study.pages[0], _NETWORK, asked)]
    early = any(s.early for s in visit.served) or hurried(document, _NETWORK, asked)
    came = early and not against
    outcome: Literal["yes", "no", "unknown"] = "yes" if came else "unknown" if own else "no"
    missing = "it decides itself, and used none" if own else "requested, but not seen"
    said = "" if came else "; ".join(against) or missing
    yield ConformanceResult(protocol=stack.protocol, what=what, outcome=outcome, said=said)


def _visit(
    session: Session, study: Study, stack: Stack, mode: ConnectionMode, page: Page | None = None
) -> Visit:
    page = page or study.pages[0]
    block = Block(
        page=page.name,
        network=_NETWORK.name,
        index=0,
        seed=1,
        order=(stack.name,),
        connection=mode,
    )
    plan = VisitPlan(
        block=block, attempt=1, page=page, network=_NETWORK, stack=stack, client=study.client
    )
    visit, _ = session.visit(plan)
    return with_verdict(visit, page, _NETWORK, stack, study.thresholds)
