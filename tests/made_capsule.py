"""Capsules on disk with chosen page load times."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec import structs

import made
from dragstrip.model.study import Study
from dragstrip.model.visit import Visit
from dragstrip.results.capsule import Capsule
from dragstrip.results.machine import Machine
from dragstrip.results.manifest import Manifest, Start
from dragstrip.verdict.rules import VERSION

HOUR_US = 3_600_000_000
START = Start(
    started="2026-03-01T12:00:00+00:00",
    command=("dragstrip", "race"),
    dragstrip_version="0.1.0",
    rules=VERSION,
    git=None,
    browser_version="Chromium 156.0",
    machine=Machine(kernel="6.1", cpu="CPU", cores=2, memory_mb=8000, python="3.11"),
)


def study(**changes: object) -> Study:
    """h2 and h3 on one page over LTE, 10 s at most."""
    base = made.study()
    client = structs.replace(base.client, timeout_s=10)
    stacks = (made.STACKS["h2"], made.STACKS["h3"])
    return structs.replace(base, stacks=stacks, client=client, **changes)


def capsule(
    folder: Path,
    times: Mapping[str, Sequence[float | None]],
    *,
    of: Study | None = None,
    first_seed: int = 0,
    hour: int = 0,
    start: Start = START,
    each: Callable[[Visit], Visit] = lambda visit: visit,
    **changes: object,
) -> Capsule:
    """A capsule with one block per time, with seeds from `first_seed` on; None is a timeout. `hour`
    is when each block was made, `changes` are fields of every visit, and `each` changes it then."""
    of = of or study()
    with Capsule.create(folder, Manifest(study=of, starts=(start,))) as made_:
        for i in range(len(next(iter(times.values())))):
            for stack, found in times.items():
                seen = _visit(stack, i, found[i], first_seed + i, hour)
                made_.append(each(structs.replace(seen, clock=of.clock.kind, **changes)))
    return Capsule.open(folder)


def _visit(stack: str, block: int, plt_ms: float | None, seed: int, hour: int) -> Visit:
    good = made.visit(made.STACKS[stack].protocol)
    return structs.replace(
        good,
        block=f"made|LTE|{block}",
        stack=stack,
        seed=seed,
        started_us=good.started_us + hour * HOUR_US + block * 1_000_000,
        outcome="loaded" if plt_ms else "timeout",
        plt_ms=plt_ms,
    )
