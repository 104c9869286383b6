"""Checks that compare the visits of a block."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from dragstrip.model.done import parse_done
from dragstrip.model.study import Study
from dragstrip.model.thresholds import Thresholds
from dragstrip.model.visit import BY_SCRIPTS, Reason, Served, Visit
from dragstrip.verdict.content_checks import asked_for, behind
from dragstrip.verdict.loss_checks import uneven_losses
from dragstrip.verdict.request_checks import some

Against = Mapping[str, tuple[Reason, ...]]
"""Reasons against visits, by name of their stack."""


def against(study: Study, visits: Sequence[Visit]) -> Against:
    """Return every reason that comparing the visits of one block gives."""
    limits = study.thresholds
    found: dict[str, list[Reason]] = {}
    for check in (
        uneven_misses(visits),
        *(uneven_objects(alike, limits) for alike in _by_browser(study, visits)),
        uneven_bodies(visits),
        uneven_luck(visits),
        uneven_frequency(visits, limits),
    ):
        for stack, reason in check.items():
            found.setdefault(stack, []).append(reason)
    return {stack: tuple(reasons) for stack, reasons in found.items()}


def uneven_misses(visits: Sequence[Visit]) -> dict[str, Reason]:
    """Return requests that the recording could not answer and that only some stacks of a block
    made, as a reason against each of these stacks.

    Such requests are compared by host and path, because their queries are often random. Only
    requests before the load event count, because later ones do not affect the load. Requests seen
    in the rehearsal belong to the page and are ignored: a beacon comes before or after the load
    event, depending on the load. So are reports of a script, which hold no load, that came when the
    loads of the other stacks had ended: those stacks were too fast for them.
    """
    loaded = [v for v in visits if v.outcome == "loaded"]
    if len(loaded) < 2:
        return {}
    ends_ms = sorted(v.plt_ms or 0.0 for v in loaded)
    missed = {v.stack: tuple(_missed_before_load(v)) for v in loaded}
    met = {stack: Counter(s.address for s in served) for stack, served in missed.items()}
    common = met[loaded[0].stack]
    for visit in loaded[1:]:
        common = common & met[visit.stack]
    found = {}
    for visit in loaded:
        other_ms = ends_ms[-2] if visit.plt_ms == ends_ms[-1] else ends_ms[-1]
        late = {s.address for s in missed[visit.stack] if _reports(visit, s, other_ms)}
        if own := [address for address in met[visit.stack] - common if address not in late]:
            found[visit.stack] = Reason(
                "replay-miss",
                "the recording lacks requests that other stacks of the block did not make: "
                + some(own),
            )
    return found


def _reports(visit: Visit, served: Served, after_ms: float) -> bool:
    """Return whether a script made this request later than `after_ms`, and the load does not wait
    for it."""
    return (
        parse_done(visit.done).kind == "load"
        and (served.t_us - visit.started_us) / 1000 > after_ms
        and any(r.url == served.url and r.resource_type in BY_SCRIPTS for r in visit.requests)
    )


def uneven_objects(visits: Sequence[Visit], limits: Thresholds) -> dict[str, Reason]:
    """Return a reason against each stack that never requested some recorded objects that other
    stacks fetched before their load event, if their share of the bytes is too large.

    Only visits in the same browser are compared, because browsers prefetch differently. Small
    differences are normal: scripts that measure or wait depend on the load, and objects that depend
    on a late object may be missing. Pages whose `done` does not imply a complete load are not
    judged.
    """
    loaded = [v for v in visits if v.outcome == "loaded" and v.served and parse_done(v.done).whole]
    sizes: dict[tuple[str, str], int] = {}
    for visit in loaded:
        for served in _before_load(visit):
            if served.match == "exact":
                sizes[served.method, served.url] = served.body_bytes
    whole = sum(sizes.values())
    reasons = {}
    for visit in loaded:
        lacking = sizes.keys() - asked_for(visit)
        share = sum(sizes[one] for one in lacking) / whole if whole else 0.0
        if share > limits.uneven_share and not behind(visit, sizes):
            reasons[visit.stack] = Reason(
                "content-mismatch",
                f"other stacks of the block fetched {share:.1%} of the bytes before the load event "
                f"alone (limit {limits.uneven_share:.0%}): {some(sorted(u for _, u in lacking))}",
            )
    return reasons


def uneven_bodies(visits: Sequence[Visit]) -> dict[str, Reason]:
    """Return reasons if a URL had different bodies for different stacks. They stand against all
    stacks, because it is unknown which body is wrong."""
    bodies: dict[tuple[str, str], dict[str, set[str]]] = {}
    for visit in visits:
        for served in visit.served:
            if served.match == "exact" and served.digest:
                of_url = bodies.setdefault((served.method, served.url), {})
                of_url.setdefault(visit.stack, set()).add(served.digest)
    uneven = {
        key: of_url
        for key, of_url in bodies.items()
        if len(of_url) > 1 and not set.intersection(*of_url.values())
    }
    return {
        visit.stack: Reason(
            "content-mismatch",
            f"the stacks of the block received different bodies for {some(urls)}",
        )
        for visit in visits
        if (urls := [url for (_, url), of_url in uneven.items() if visit.stack in of_url])
    }


def uneven_luck(visits: Sequence[Visit]) -> dict[str, Reason]:
    """Return reasons if random loss differed between stacks. They stand against all stacks, because
    it is unknown which one is wrong."""
    details = list(uneven_losses(visits))
    reason = Reason("link-drift", "; ".join(details))
    return {visit.stack: reason for visit in visits} if details else {}


def uneven_frequency(visits: Sequence[Visit], limits: Thresholds) -> dict[str, Reason]:
    """Return reasons for CPUs with a lower frequency limit than in another visit of the block."""
    allowed = {v.stack: v.host.cpu_limit_mhz for v in visits if v.host and v.host.cpu_limit_mhz}
    most = max(allowed.values(), default=0.0)
    return {
        stack: Reason(
            "overloaded",
            f"a CPU was limited to {mhz:.0f} MHz, in another visit of the block to {most:.0f} MHz "
            f"(limit {limits.frequency_share:.0%} less)",
        )
        for stack, mhz in allowed.items()
        if mhz < most * (1 - limits.frequency_share)
    }


def _by_browser(study: Study, visits: Iterable[Visit]) -> Iterable[list[Visit]]:
    blocks: dict[str, list[Visit]] = {}
    for visit in visits:
        blocks.setdefault(study.stack(visit.stack).browser, []).append(visit)
    return blocks.values()


def _missed_before_load(visit: Visit) -> Iterator[Served]:
    for served in _before_load(visit):
        if served.match == "miss" and served.address not in visit.known_misses:
            yield served


def _before_load(visit: Visit) -> Iterator[Served]:
    for served in visit.served:
        if (served.t_us - visit.started_us) / 1000 < (visit.plt_ms or 0):
            yield served
