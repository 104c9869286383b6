"""Where a worker makes visits: a testbed of its own."""

import contextlib
import hashlib
import time
from collections.abc import Collection, Iterator
from pathlib import Path

from msgspec import structs

from dragstrip.model.study import Study
from dragstrip.model.visit import Visit
from dragstrip.schedule.lab import lab
from dragstrip.schedule.worker import Made, Order, Visitor
from dragstrip.testbed.precedence import precedence
from dragstrip.visit.drive import Plan
from dragstrip.visit.host import Patience, busy_share

_OTHERS_SHARE = 0.1
"""A machine of whose CPU time others use more than this is busy."""
_LOOK_S = 0.3


@contextlib.contextmanager
def in_testbed(
    study: Study, artefacts: Path | None = None, rehearsed: Collection[str] = ()
) -> Iterator[Visitor]:
    """Opens with these pages rehearsed; others are before their first visit. What belongs to a
    whole browser (its NetLog) goes to `artefacts`. Raises `TestbedError` and `CdpError`.

    A block has precedence as a whole or not at all, so all its stacks are treated alike.
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

        def visit(order: Order) -> Made:
            nonlocal last, block
            if block != (order.block.id, order.attempt):
                block = order.block.id, order.attempt
                # In a guest nobody else is in the way.
                ahead.keep(not study.clock.virtual and wants_precedence(order, last))
                if order.attempt and not ahead.taken:
                    patience.await_quiet(study.thresholds)  # why most blocks are rerun
            made = place.visit(
                Plan(
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


def wants_precedence(order: Order, last: Visit | None) -> bool:
    """Whether a block that starts with this order is made on a busy machine: it has to be made
    again, which a busy machine is the usual cause of, or others were at work in the visit before;
    before the first, others are at work now.
    """
    if order.attempt:
        return True
    if last is None:
        return busy_share(_LOOK_S) > _OTHERS_SHARE
    others = last.host.others_share if last.host else None
    return others is not None and others > _OTHERS_SHARE
