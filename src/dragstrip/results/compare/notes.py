"""Writes notes that a reader of a comparison of two capsules must know besides the numbers."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from dragstrip.model.addresses import sharing
from dragstrip.model.configuration import differing_lines, same_program
from dragstrip.model.done import AT_LOAD, said_done
from dragstrip.model.visit import Visit
from dragstrip.results.blocks import trials
from dragstrip.results.capsule import Capsule
from dragstrip.results.manifest import Start
from dragstrip.study.loader_error import predicted
from dragstrip.verdict.rules import VERSION

_SURROUNDINGS: Mapping[str, Callable[[Start], str]] = {
    "browser": lambda s: s.browser_version,
    "servers": lambda s: ", ".join(f"{n} {v}" for n, v in s.server_versions.items()) or "ours",
    "dragstrip": lambda s: s.git or s.dragstrip_version,
    "guests' kernel": lambda s: s.guest or "none",
    "machine": lambda s: f"{s.machine.cpu}, {s.machine.cores} cores, {s.machine.kernel}",
}


_MOST_LINES = 20


def notes(
    a: Capsule,
    b: Capsule,
    of_a: Sequence[Visit],
    of_b: Sequence[Visit],
    pairs: Sequence[tuple[str, str]],
) -> list[str]:
    """Return sentences on what else differs besides the build; none if nothing differs. `pairs` are
    the names of the compared stacks."""
    return [
        *_predictions(a, b),
        *_meanings(a, b),
        *_configurations(a, b, pairs),
        *_done(a, b),
        *_unshared(a, b),
        *_surroundings(a, b),
        *_not_counted(a, of_a),
        *_not_counted(b, of_b),
        *_apart(of_a, of_b),
    ]


def _predictions(a: Capsule, b: Capsule) -> Iterator[str]:
    if a.manifest.study.predicted or b.manifest.study.predicted:
        which = [n for n, c in (("A", a), ("B", b)) if c.manifest.study.predicted]
        yield f"{' and '.join(which)}: {predicted()}"


def _meanings(a: Capsule, b: Capsule) -> Iterator[str]:
    """Yield sentences on names that stand for different things in the two capsules."""
    one, other = a.manifest.study, b.manifest.study
    kinds = (
        ("page", {p.name: p.digest for p in one.pages}, {p.name: p.digest for p in other.pages}),
        (
            "network",
            {n.name: n.describe() for n in one.networks},
            {n.name: n.describe() for n in other.networks},
        ),
        (
            "stack",
            {s.name: f"{s.fingerprint}, {s.describe()}" for s in one.stacks},
            {s.name: f"{s.fingerprint}, {s.describe()}" for s in other.stacks},
        ),
    )
    for kind, in_a, in_b in kinds:
        for name in in_a:
            if name in in_b and in_a[name] != in_b[name]:
                alike = in_a[name].partition(", ")[2] == in_b[name].partition(", ")[2]
                own = kind == "stack" and one.stack(name).brought != other.stack(name).brought
                if not (alike and own):  # `_configurations` says in what they differ
                    yield f"{kind} {name} differs: A has {in_a[name]}; B has {in_b[name]}."
    shared = {p.name for p in (*one.pages, *other.pages) if sharing(p)}
    if shared and one.addresses != other.addresses:
        yield (
            f"The addresses of {', '.join(sorted(shared))} differ: A has {one.addresses}, B "
            f"{other.addresses}."
        )
    if one.clock != other.clock:
        yield f"The clocks differ: A is in {one.clock.describe()}, B in {other.clock.describe()}."
    if one.client != other.client:
        yield f"The clients differ: A has {one.client}; B has {other.client}."


def _configurations(a: Capsule, b: Capsule, pairs: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yield sentences with the lines in which configurations differ, for pairs of stacks with one
    program."""
    said: dict[tuple[str, ...], list[str]] = {}
    for name_a, name_b in pairs:
        of_a, of_b = (c.manifest.study.stack(n).serving for c, n in ((a, name_a), (b, name_b)))
        if same_program(of_a, of_b) and (lines := differing_lines(of_a, of_b)):
            pair = name_a if name_a == name_b else f"{name_b} against {name_a}"
            said.setdefault(tuple(lines), []).append(pair)
    for differing, names in said.items():
        head = f"The configuration of the server differs for {', '.join(names)}:"
        yield "\n".join([head, *(f"  {line}" for line in differing[:_MOST_LINES])])
        if left := differing[_MOST_LINES:]:
            yield f"{len(left)} more lines of the configuration differ."


def _done(a: Capsule, b: Capsule) -> Iterator[str]:
    """Yield a sentence on when pages count as loaded, unless that is the load event in both
    capsules."""
    in_b = {p.name: p.done for p in b.manifest.study.pages}
    for page in a.manifest.study.pages:
        other = in_b.get(page.name, page.done)
        if page.done != other:
            yield (
                f"page {page.name} counts as loaded at {said_done(page.done)} in A, and at "
                f"{said_done(other)} in B: their page load times measure different things."
            )
        elif page.done != AT_LOAD:
            yield f"page {page.name} counts as loaded at {said_done(page.done)}."


def _unshared(a: Capsule, b: Capsule) -> Iterator[str]:
    one, other = a.manifest.study, b.manifest.study
    for kind in ("pages", "networks", "stacks"):
        in_a, in_b = ({x.name for x in getattr(study, kind)} for study in (one, other))
        for where, names in (("A", in_a - in_b), ("B", in_b - in_a)):
            if names:
                yield f"{kind} only in {where}, not compared: {', '.join(sorted(names))}."


def _surroundings(a: Capsule, b: Capsule) -> Iterator[str]:
    """Yield sentences on versions and machines, from all starts of a capsule. A resumed capsule may
    have several starts."""
    for what, of in _SURROUNDINGS.items():
        in_a, in_b = (sorted({of(s) for s in c.manifest.starts}) for c in (a, b))
        if in_a != in_b:
            yield f"The {what} differs: A has {' and '.join(in_a)}; B has {' and '.join(in_b)}."
    if (rules_a := a.manifest.rules) != (rules_b := b.manifest.rules):
        made = (" and ".join(map(str, sorted(rules))) for rules in (rules_a, rules_b))
        yield (
            f"A was made under rules {next(made)} of the verdict, B under rules {next(made)}; both "
            f"are judged by rules {VERSION}."
        )


def _not_counted(capsule: Capsule, visits: Sequence[Visit]) -> Iterator[str]:
    blocks = trials(visits, [s.name for s in capsule.manifest.study.stacks])
    lost = sum(not block.counts for block in blocks)
    if lost:
        made = f"{lost} of {len(blocks)} blocks"
        yield f"{capsule.path}: {made} do not count (invalid or incomplete)."


def _apart(of_a: Sequence[Visit], of_b: Sequence[Visit]) -> Iterator[str]:
    if not of_a or not of_b:
        return
    times_a, times_b = ([v.started_us for v in visits] for visits in (of_a, of_b))
    if max(times_a) < min(times_b) or max(times_b) < min(times_a):
        yield (
            "The visits of A and B do not alternate: a drift of the machine between them looks "
            "like a difference."
        )
