"""Compares visits, within their blocks and over the whole study.

The comparison reads all visits once and keeps a few numbers per complete block, because the
evidence of a large study would fill the memory.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import structs

from dragstrip.model.study import Study
from dragstrip.model.visit import Reason, Visit, VisitKey
from dragstrip.verdict.block_checks import against
from dragstrip.verdict.study_checks import Losses

ReasonsByVisit = Mapping[VisitKey, tuple[Reason, ...]]


def in_blocks(study: Study, visits: Iterable[Visit]) -> ReasonsByVisit:
    """Return the reasons against each visit that come from comparing it with the others of its
    block. Visits without such reasons have no key."""
    found: dict[VisitKey, tuple[Reason, ...]] = {}
    for made in _blocks(study, visits):
        for stack, reasons in against(study, made).items():
            found[made[0].block, made[0].attempt, stack] = reasons
    return found


def in_study(study: Study, visits: Iterable[Visit]) -> ReasonsByVisit:
    """Return reasons from comparing visits within blocks, and reasons from all visits of a
    network."""
    found: dict[VisitKey, tuple[Reason, ...]] = {}
    losses = Losses()
    network_of: dict[VisitKey, str] = {}
    for made in _blocks(study, visits):
        by_block = against(study, made)
        for visit in made:
            key, reasons = visit.key, by_block.get(visit.stack, ())
            network_of[key] = visit.network
            if reasons:
                found[key] = reasons
            losses.add(visit, (*visit.reasons, *reasons))
    by_network = {n.name: tuple(losses.reasons(n, study.thresholds)) for n in study.networks}
    for key, network in network_of.items():
        if extra := by_network.get(network):
            found[key] = (*found.get(key, ()), *extra)
    return found


def with_reasons(visits: Iterable[Visit], found: ReasonsByVisit) -> Iterator[Visit]:
    """Yield the visits in their order, each with all reasons against it."""
    for visit in visits:
        new = tuple(r for r in found.get(visit.key, ()) if r not in visit.reasons)
        yield structs.replace(visit, reasons=(*visit.reasons, *new)) if new else visit


def _blocks(study: Study, visits: Iterable[Visit]) -> Iterator[Sequence[Visit]]:
    """Yield attempts at blocks when they are complete; at the end, the incomplete ones."""
    begun: dict[tuple[str, int], list[Visit]] = {}
    for visit in visits:
        attempt = begun.setdefault((visit.block, visit.attempt), [])
        attempt.append(visit)
        if len(attempt) == study.visits_of(visit.block):
            yield begun.pop((visit.block, visit.attempt))
    yield from begun.values()
