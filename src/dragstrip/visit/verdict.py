"""The verdict: did the testbed do what was asked of it?

Every check looks at the evidence of one visit and yields reasons not to believe it. Failures
that the asked conditions explain are outcomes and yield nothing.
"""

from collections.abc import Iterator

from dragstrip.model.network import Network
from dragstrip.model.page import Page
from dragstrip.model.stack import Stack
from dragstrip.model.thresholds import Thresholds
from dragstrip.model.visit import Reason, Visit
from dragstrip.visit import (
    clock_checks,
    host_checks,
    link_checks,
    physics,
    request_checks,
    stack_checks,
)


def judge(
    visit: Visit, page: Page, network: Network, stack: Stack, limits: Thresholds
) -> tuple[Reason, ...]:
    """All reasons against the visit, most telling first; empty if it may be believed."""
    return tuple(_reasons(visit, page, network, stack, limits))


def unchecked(visit: Visit, page: Page, stack: Stack) -> tuple[str, ...]:
    """What there is no evidence for, because it would have to come from the server's log."""
    if not page.live:
        return tuple(stack.untold.values())
    return (
        "the server's word on protocols",
        "that every stack was served the same bytes",
        "resumed sessions",
        "the server's transport tuning, which is the site's own",
    )


def _reasons(
    visit: Visit, page: Page, network: Network, stack: Stack, limits: Thresholds
) -> Iterator[Reason]:
    yield from request_checks.protocol(visit, stack)
    if not page.live:
        yield from request_checks.agreement(visit)
        yield from request_checks.replay(visit, page, limits)
        yield from request_checks.unanswered(visit, page, stack)
        if "transport" not in stack.untold:
            yield from stack_checks.transport(visit, stack)
    yield from request_checks.aborted(visit, limits)
    yield from stack_checks.handshakes(visit, page, stack)
    yield from physics.possible(visit, network, stack, limits)
    yield from link_checks.delivered(visit, network, limits)
    yield from clock_checks.steady(visit, limits)
    yield from clock_checks.agreed(visit, network, limits)
    yield from host_checks.on_time(visit, network, limits)
    yield from host_checks.waited(visit, network, stack, limits)
    yield from host_checks.crowded(visit, network, stack, limits)
    yield from host_checks.stolen(visit, network, stack, limits)
