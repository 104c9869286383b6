"""Makes the A/A control of a cluster's machine."""

import tempfile
import time
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from msgspec import structs

from dragstrip.execution.by_clock import session_of
from dragstrip.execution.local import Schedule, run_here
from dragstrip.execution.orders import SessionFactory
from dragstrip.model.network import Network
from dragstrip.model.study import Study
from dragstrip.model.visit import Visit
from dragstrip.results.aa_control import BLOCKS, AAControl, Round
from dragstrip.study.controls import controls_of
from dragstrip.study.spec import StudySpec

PAGE = "demo"
NETWORK = Network.parse("100mbit/10ms")
"""A bare link: fast, short, without loss, so that a load takes a few tenths of a second."""
_RERUNS = 1


def aa_control(
    study: Study,
    seed: int,
    session: Callable[[Study, Path, Collection[str]], SessionFactory] = session_of,
) -> AAControl:
    """Make one round of the A/A control with the study's first stack and its browser. Nothing stays
    on disk.

    Raises `TestbedError` if no visit can be made.
    """
    began = time.monotonic()
    visits: list[Visit] = []
    with tempfile.TemporaryDirectory() as folder:
        round_study = _of(study, seed, Path(folder))
        run_here(
            Schedule(round_study, []),
            lambda visit, _: visits.append(visit),
            session=session(round_study, Path(folder), ()),
        )
    return AAControl(
        stack=round_study.stacks[0].name,
        page=round_study.pages[0].name,
        network=round_study.networks[0].name,
        rounds=(round_of(round_study, visits, time.monotonic() - began),),
    )


def _of(study: Study, seed: int, cache: Path) -> Study:
    """Return a study whose visits make one round."""
    first = study.stacks[0]
    same, *_ = controls_of([first])
    aa_study = StudySpec(
        name="A/A control",
        pages=[PAGE],
        networks=[NETWORK],
        stacks=[first, same],
        runs=BLOCKS,
        seed=seed,
        client=structs.replace(
            study.client, frames=False, net_log=False, qlog=False, pcap=False, main_thread=False
        ),
        thresholds=study.thresholds,
    ).resolve(cache)
    return structs.replace(aa_study, reruns=_RERUNS)


def round_of(study: Study, visits: Sequence[Visit], took_s: float) -> Round:
    """Return the result of a round's visits. A block counts if both visits of its last attempt
    do."""
    last: dict[str, dict[str, Visit]] = {}
    for visit in sorted(visits, key=lambda v: v.attempt):
        block = last.setdefault(visit.block, {})
        if any(v.attempt < visit.attempt for v in block.values()):
            block.clear()
        block[visit.stack] = visit
    a, b = (stack.name for stack in study.stacks)
    pairs = [
        (one[a].plt_ms, one[b].plt_ms)
        for one in last.values()
        if {a, b} <= one.keys() and all(v.valid and v.plt_ms for v in one.values())
    ]
    return Round(
        a_ms=tuple(x for x, _ in pairs if x),
        b_ms=tuple(y for _, y in pairs if y),
        visits=len(visits),
        invalid=dict(Counter(v.verdict for v in visits if not v.valid).most_common()),
        took_s=took_s,
    )
