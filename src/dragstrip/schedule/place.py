"""Where a worker makes visits: a testbed of its own."""

import contextlib
from collections.abc import Collection, Iterator
from pathlib import Path

from dragstrip.model.study import Study
from dragstrip.schedule.lab import lab
from dragstrip.schedule.worker import Made, Order, Visitor
from dragstrip.visit.drive import Plan
from dragstrip.visit.host import Patience


@contextlib.contextmanager
def in_testbed(
    study: Study, artefacts: Path | None = None, rehearsed: Collection[str] = ()
) -> Iterator[Visitor]:
    """Opens with these pages rehearsed; others are before their first visit. What belongs to a
    whole browser (its NetLog) goes to `artefacts`. Raises `TestbedError` and `CdpError`."""
    with lab(study, artefacts) as place:
        for page in rehearsed:
            for stack in study.visited:
                for connection in study.connections:
                    place.rehearse(study.page(page), stack, connection)
        patience = Patience()

        def visit(order: Order) -> Made:
            if order.attempt and order.stack == order.block.order[0]:
                patience.await_quiet(study.thresholds)  # a busy host is why most blocks are rerun
            return place.visit(
                Plan(
                    block=order.block,
                    attempt=order.attempt,
                    page=study.page(order.block.page),
                    network=study.network(order.block.network),
                    stack=study.stack(order.stack),
                    client=study.client,
                )
            )

        yield visit
