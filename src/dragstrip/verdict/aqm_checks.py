"""Checks that active queue management did what it must, and nothing that it cannot."""

from collections.abc import Iterator

from dragstrip.model.aqm import Codel, DualPi2
from dragstrip.model.effects import Direction
from dragstrip.model.network import ETHERNET_MTU
from dragstrip.model.visit import DirectionReport


def managed(asked: Direction, got: DirectionReport) -> Iterator[str]:
    """Yield faults of a managed queue. It may mark only packets whose sender understands ECN, and
    it must mark or drop packets that reach its limits."""
    if got.ect is not None and got.marked > got.ect:
        yield f"{got.marked} packets were marked, but only {got.ect} understood ECN"
    # A packet that waits only for a few others on a slow line has not reached the queue's own
    # limits.
    slack_ms = 4 * asked.least_ms(ETHERNET_MTU)
    if type(asked.aqm) is Codel and asked.rate_mbps:
        yield from _codel(asked.aqm, got, slack_ms)
    yield from _two_queues(asked, got, slack_ms)


def _codel(aqm: Codel, got: DirectionReport, slack_ms: float) -> Iterator[str]:
    """Yield a fault if CoDel let a long wait pass. Behind a packet that waited so long, every wait
    of an interval was above target (RFC 8289 section 5). A marked packet may be lost later."""
    most_ms = aqm.target_ms + aqm.interval_ms + slack_ms
    met = got.dropped_aqm or got.marked or got.dropped_loss
    if got.queue_max_ms > most_ms and not met:
        yield (
            f"a packet waited {got.queue_max_ms:.1f} ms, and CoDel dropped and marked none: beyond "
            f"{most_ms:.1f} ms it must"
        )


def _two_queues(asked: Direction, got: DirectionReport, slack_ms: float) -> Iterator[str]:
    """Yield faults of DualPI2's two queues. The link must report both, and the L4S queue must mark
    above its threshold."""
    dual = asked.aqm if isinstance(asked.aqm, DualPi2) else None
    if bool(dual) != bool(got.queues) and got.packets_out:
        seen = "shared one queue" if dual else "had two queues"
        yield f"classic and L4S packets {seen}, which the network does not ask for"
    marked = sum(queue.marked for queue in got.queues)
    if got.queues and got.marked > marked + got.duplicated:
        yield f"{got.marked} packets were marked, but only {marked} in the queues"
    if dual is None or not asked.rate_mbps:
        return
    most_ms = dual.step_ms + dual.ramp_ms + slack_ms
    for queue in got.queues:
        if queue.queue == "l4s" and queue.wait_p50_ms > most_ms and not queue.marked:
            yield (
                f"half of the L4S packets waited {queue.wait_p50_ms:.1f} ms or more, and DualPI2 "
                f"marked none: beyond {most_ms:.1f} ms it must"
            )
