"""A session without a testbed, and a study that is run in it by real processes."""

import contextlib
import random
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from msgspec import structs

import made
from dragstrip.browsers.load import Load
from dragstrip.execution.orders import MadeVisit, Visitor, VisitOrder
from dragstrip.model.study import Study
from dragstrip.model.visit import Reason

LOAD = Load(outcome="loaded", sent_s=0.0, time_origin_s=0.0)


@contextlib.contextmanager
def made_session(pause_s: float = 0.0, bad_share: float = 0.0) -> Iterator[Visitor]:
    """A session that makes visits without a testbed. Which visits are invalid depends only on the
    order."""
    start = f"boot.{time.time_ns()}"

    def visit(order: VisitOrder) -> MadeVisit:
        time.sleep(pause_s)
        luck = random.Random(f"{order.block.id} {order.attempt} {order.stack}").random()
        told = made.visit(
            made.STACKS[order.stack].protocol,
            block=order.block.id,
            attempt=order.attempt,
            page=order.block.page,
            network=order.block.network,
            seed=order.block.seed,
            position=order.block.order.index(order.stack),
            testbed=start,
            reasons=(Reason("mixed", "made up"),) if luck < bad_share else (),
        )
        return told, LOAD

    yield visit


def slow(study: Study) -> Study:
    """The study on a link so slow that blocks may run in parallel."""
    network = structs.replace(made.LTE, name="slow")
    down = structs.replace(network.down, rate_mbps=0.5)
    return structs.replace(study, networks=(structs.replace(network, down=down),))


def run_in(folder: Path, study: Study, jobs: int, pause_s: float = 0.004) -> None:
    """Do what `dragstrip run` does, without a testbed."""
    from dragstrip.execution.concurrency import RealTimeConcurrency
    from dragstrip.execution.local import Schedule, run_here
    from dragstrip.results.capsule import Capsule
    from dragstrip.results.manifest import Manifest

    with Capsule.create(folder, Manifest(study=study, starts=())) as capsule:
        run_here(
            Schedule(study, capsule.visits()),
            lambda visit, _: capsule.append(visit),
            concurrency=RealTimeConcurrency(study, jobs, stagger_s=0.0, cores=64),
            session=partial(made_session, pause_s=pause_s, bad_share=0.05),
        )
