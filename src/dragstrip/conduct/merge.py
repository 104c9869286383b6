"""Merges capsules of one study: shards, or the same study run on several machines."""

import hashlib
import os
import shutil
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from msgspec import Struct, structs

from dragstrip.model.visit import OF_BROWSERS, Visit, VisitKey
from dragstrip.results.artefacts import artefacts
from dragstrip.results.capsule import JOURNAL, MANIFEST, Capsule, CapsuleError
from dragstrip.results.journal import entries, unchanging
from dragstrip.results.manifest import Manifest

_Made = dict[VisitKey, bytes]
"""A part's visits of a block, each with the digest of its line."""


class Merged(Struct, frozen=True, kw_only=True):
    visits: int
    blocks: int
    copies: int
    """Identical visits in several parts; they count once."""
    dropped: tuple[str, ...]
    """Ids of blocks made independently in several parts; only one part's visits count."""


def merge(parts: Sequence[Path], out: Path) -> Merged:
    """Write the capsule `out`, completely or not at all. The parts stay unchanged.

    All visits of a block come from one part, so visits made separately are never paired. Raises
    `CapsuleError` if the parts differ in study or rules, if one is still being written, or if `out`
    exists.
    """
    if len(set(map(Path.resolve, parts))) != len(parts):
        raise CapsuleError("a folder is given twice; give each once")
    if out.exists():
        raise CapsuleError(f"{out}: exists already; give another --out")
    capsules = [Capsule.open(part) for part in parts]
    manifest = _one_study(capsules)
    draft = out.with_name(f"{out.name}.part-{os.getpid()}")
    try:
        with ExitStack() as held:
            for capsule in capsules:
                held.enter_context(unchanging(capsule.path / JOURNAL))
            merged = _write(capsules, manifest, draft)
        draft.rename(out)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return merged


def _one_study(capsules: Sequence[Capsule]) -> Manifest:
    first, *others = capsules
    whole = first.manifest
    for other in others:
        there = other.manifest
        if differences := whole.differences(there) or there.differences(whole):
            raise CapsuleError(
                f"{other.path}: holds a different study from {first.path} "
                f"({'; '.join(differences)})"
            )
        if whole.rules != there.rules:
            raise CapsuleError(
                f"{other.path}: was made under {_rules(there)}, {first.path} under "
                f"{_rules(whole)}; run the older one again"
            )
        runs = max(whole.study.runs, there.study.runs)
        study = structs.replace(whole.study, runs=runs)
        new = tuple(start for start in there.starts if start not in whole.starts)
        whole = structs.replace(whole, study=study, starts=whole.starts + new)
    return whole


def _rules(manifest: Manifest) -> str:
    return f"rules {', '.join(map(str, sorted(manifest.rules)))}"


def _write(capsules: Sequence[Capsule], manifest: Manifest, out: Path) -> Merged:
    made = [_made(capsule) for capsule in capsules]
    owner = {
        block: _owner(block, made, manifest.study.visits_of(block))
        for block in dict.fromkeys(b for m in made for b in m)
    }
    out.mkdir(parents=True)
    (out / MANIFEST).write_bytes(manifest.to_json())
    with (out / JOURNAL).open("wb") as journal:
        for part, capsule in enumerate(capsules):
            for visit, line in entries(capsule.path / JOURNAL):
                if owner[visit.block] == part:
                    journal.write(line)
                    _take_artefacts(capsule.path, visit, out)
            _take_browsers(capsule.path, out)
        journal.flush()
        os.fsync(journal.fileno())
    mine = {block: made[part][block] for block, part in owner.items()}
    others = [(b, m[b]) for n, m in enumerate(made) for b in m if owner[b] != n]
    apart = {b for b, theirs in others if theirs.items() - mine[b].items()}
    return Merged(
        visits=sum(map(len, mine.values())),
        blocks=len(mine),
        copies=sum(len(theirs.items() & mine[b].items()) for b, theirs in others),
        dropped=tuple(block for block in owner if block in apart),
    )


def _made(capsule: Capsule) -> dict[str, _Made]:
    found: dict[str, _Made] = defaultdict(dict)
    for visit, line in entries(capsule.path / JOURNAL):
        found[visit.block][visit.key] = hashlib.sha256(line).digest()
    return dict(found)


def _owner(block: str, made: Sequence[dict[str, _Made]], whole: int) -> int:
    """Return the number of the part whose visits of the block count. A part with all `whole` visits
    comes first, then the part with the most; on a tie the first part wins."""

    def worth(part: int) -> tuple[bool, int, int]:
        visits = made[part][block]
        last = max(attempt for _, attempt, _ in visits)
        complete = sum(attempt == last for _, attempt, _ in visits) == whole
        return complete, len(visits), -part

    return max((part for part, found in enumerate(made) if block in found), key=worth)


def _take_artefacts(part: Path, visit: Visit, out: Path) -> None:
    for artefact in artefacts(part, visit):
        _take(artefact.path, out / artefact.path.relative_to(part))


def _take_browsers(part: Path, out: Path) -> None:
    for file in _files(part / OF_BROWSERS):
        _take(file, out / file.relative_to(part))


def _files(folder: Path) -> Iterator[Path]:
    return folder.glob("*") if folder.is_dir() else iter(())


def _take(file: Path, target: Path) -> None:
    """Hard-link the file if both are on one file system, otherwise copy it. The files never
    change."""
    target.parent.mkdir(exist_ok=True)
    try:
        target.hardlink_to(file)
    except OSError:
        shutil.copy2(file, target)
