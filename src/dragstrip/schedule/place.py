"""Where a worker makes visits: its own testbed."""

import contextlib
import hashlib
import time
from collections.abc import Collection, Iterator
from pathlib import Path

from msgspec import structs

from dragstrip.model.study import Study
from dragstrip.model.visit import Visit
from dragstrip.schedule.lab import lab
from dragstrip.schedule.worker import MadeVisit, Visitor, VisitOrder
from dragstrip.testbed.precedence import precedence
from dragstrip.visit.drive import VisitPlan
from dragstrip.visit.host import Patience, outside_share

_OUTSIDE_SHARE = 0.06
"""A machine is busy if others use more than this share of its CPU time. They used up to 4 % of a
quiet machine's, and at least 8 % beside whatever bench/visits/held_up.py runs."""


@contextlib.contextmanager
def in_testbed(
    study: Study, artefacts: Path | None = None, rehearsed: Collection[str] = ()
) -> Iterator[Visitor]:
    """Opens with these pages rehearsed; other pages are rehearsed before their first visit.

    Files of a whole browser (its NetLog) go to `artefacts`. Raises `TestbedError` and
    `BrowserError`. A block has precedence as a whole or not at all, so that all its stacks are
    treated alike.
    """
    with lab(study, artefacts) as place, precedence(place.spaces) as ahead:
        start = _start()
        for page in rehearsed:
            for stack in study.visited:
                for connection in study.connections:
                    place.rehearse(study.page(page), stack, connection)
        patience = Patience()
        last: Visit | None = None
        block: tuple[str, int] | None = None

        def visit(order: VisitOrder) -> MadeVisit:
            nonlocal last, block
            if block != (order.block.id, order.attempt):
                block = order.block.id, order.attempt
                # In a guest nothing else runs.
                ahead.keep(not study.clock.virtual and wants_precedence(last))
                if order.attempt and not ahead.taken:
                    patience.await_quiet(study.thresholds)  # the main reason for reruns
            made = place.visit(
                VisitPlan(
                    block=order.block,
                    attempt=order.attempt,
                    page=study.page(order.block.page),
                    network=study.network(order.block.network),
                    stack=study.stack(order.stack),
                    client=study.client,
                )
            )
            last, load = made
            return structs.replace(last, testbed=start), load

        yield visit


def _start() -> str:
    """See `dragstrip.model.visit.Visit.testbed`."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_bytes()
    digest = hashlib.sha256(b"dragstrip:" + boot).hexdigest()[:8]
    return f"{digest}.{time.time_ns() // 1_000_000}"


def wants_precedence(last: Visit | None) -> bool:
    """Whether the next block runs on a busy machine: if others used the CPU during the visit
    before. The first has none: a testbed that has just opened is busy itself.

    What the link and dragstrip use does not count, because they use a tenth of two CPUs over a
    fast link.
    """
    outside = outside_share(last.host) if last and last.host else None
    return outside is not None and outside > _OUTSIDE_SHARE
