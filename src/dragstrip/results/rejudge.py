"""Judges a capsule's evidence again by today's rules, or by other limits."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct, structs

from dragstrip.model.errors import InputError
from dragstrip.model.study import Study
from dragstrip.model.thresholds import Thresholds
from dragstrip.model.visit import Reason, Visit
from dragstrip.results.capsule import Capsule
from dragstrip.verdict import rules
from dragstrip.verdict.judge import Judge
from dragstrip.verdict.together import ReasonsByVisit, in_blocks, with_reasons


class VerdictChange(Struct, frozen=True, kw_only=True):
    """A visit whose verdict on its own evidence, or whose outcome, changes."""

    visit: str
    """Id of the visit, see `dragstrip.model.visit.Visit.id`."""
    stack: str
    before: str
    """The verdict before: ``valid``, or codes joined by commas. If the outcome changes too, it is
    added."""
    after: str
    reasons: tuple[Reason, ...]
    """Reasons for the verdict `after`."""


class Rejudgement(Struct, frozen=True, kw_only=True):
    rules_then: tuple[int, ...]
    """Versions of the rules under which the visits were made, see `dragstrip.verdict.rules`."""
    rules: int
    """Version of the rules by which the visits were judged now."""
    limits: dict[str, Any]
    """Limits that differ from the defaults, by name."""
    visits: int
    changed: tuple[VerdictChange, ...]
    blocks_then: int
    """Number of blocks whose last attempt had only valid visits, according to the earlier
    verdicts."""
    blocks: int
    """Number of blocks whose last attempt has only valid visits, according to today's verdicts."""

    @property
    def changes(self) -> list[str]:
        """Changes of the rules since the visits were made, in words."""
        first = min(self.rules_then, default=self.rules)
        later = range(first + 1, self.rules + 1)
        return [words for version in later for words in rules.CHANGES[version]]


def rejudge(capsule: Capsule, limits: Mapping[str, str] | None = None) -> Rejudgement:
    """Compare every visit's verdict on its own evidence with today's. Nothing is written.

    `limits` are thresholds by name, as text. Raises `InputError` for a threshold that does not
    exist or cannot be read.
    """
    study = with_limits(capsule.manifest.study, limits or {})
    count, changed = 0, []
    for visit, judged in zip(capsule.as_made(), _judged(study, capsule.as_made()), strict=True):
        count += 1
        if (visit.verdict, visit.outcome) != (judged.verdict, judged.outcome):
            before, after = visit.verdict, judged.verdict
            if visit.outcome != judged.outcome:
                before, after = f"{before} ({visit.outcome})", f"{after} ({judged.outcome})"
            changed.append(
                VerdictChange(
                    visit=visit.id,
                    stack=visit.stack,
                    before=before,
                    after=after,
                    reasons=judged.reasons,
                )
            )
    return Rejudgement(
        rules_then=tuple(sorted(capsule.manifest.rules)),
        rules=rules.VERSION,
        limits=study.thresholds.changed(),
        visits=count,
        changed=tuple(changed),
        blocks_then=_blocks(study, capsule.as_made(), in_blocks(study, capsule.as_made())),
        blocks=_blocks(
            study,
            _judged(study, capsule.as_made()),
            in_blocks(study, _judged(study, capsule.as_made())),
        ),
    )


def with_limits(study: Study, limits: Mapping[str, str]) -> Study:
    """Return the study with these thresholds. Raises `InputError`, as `rejudge` does."""
    known = structs.asdict(study.thresholds)
    if unknown := [name for name in limits if name not in known]:
        raise InputError(f"--limit {unknown[0]}: no such limit; choose from {', '.join(known)}")
    try:
        used = msgspec.convert(known | dict(limits), Thresholds, strict=False)
    except msgspec.ValidationError as error:
        said = ", ".join(f"{name}={value}" for name, value in limits.items())
        raise InputError(f"--limit {said}: {error}") from None
    return structs.replace(study, thresholds=used)


def _judged(study: Study, visits: Iterable[Visit]) -> Iterator[Visit]:
    return map(Judge(study).in_turn, visits)


def _blocks(study: Study, visits: Iterable[Visit], found: ReasonsByVisit) -> int:
    """Count the blocks whose last attempt is complete and valid."""
    last: dict[str, tuple[int, list[bool]]] = {}
    for visit in with_reasons(visits, found):
        attempt, told = last.get(visit.block, (-1, []))
        if visit.attempt > attempt:
            attempt, told = visit.attempt, []
        if visit.attempt == attempt:
            told.append(visit.valid)
        last[visit.block] = attempt, told
    return sum(
        len(told) == study.visits_of(block) and all(told) for block, (_, told) in last.items()
    )


def by_change(changed: Sequence[VerdictChange]) -> dict[tuple[str, str], list[VerdictChange]]:
    """Group changed visits by verdict before and after, the most frequent change first."""
    found: dict[tuple[str, str], list[VerdictChange]] = {}
    for one in changed:
        found.setdefault((one.before, one.after), []).append(one)
    return dict(sorted(found.items(), key=lambda item: -len(item[1])))
