"""Records what was run besides the loads: how, by which programs and machines, and under which
rules."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl
from msgspec import Struct, structs

from dragstrip.model.clock import REAL, Clock
from dragstrip.results.bias import bias
from dragstrip.results.capsule import Capsule
from dragstrip.results.compare.bias_words import sentence
from dragstrip.results.compare.controls import Control, controls
from dragstrip.results.tables.build import refresh, scan
from dragstrip_papers.campaign.clients import ClientName, client_of
from dragstrip_papers.campaign.patience import changed
from dragstrip_papers.campaign.space import CELL
from dragstrip_papers.measured import Key
from dragstrip_papers.provenance import commands, made_by


class Made(Struct, frozen=True, kw_only=True):
    """What was run of one study."""

    study: str
    visits: int
    invalid: int
    reasons: dict[str, int]
    """Why visits were invalid, by code of the reason."""
    cells: int
    """Number of cells with a block that counts."""
    bias: str
    """Whether invalid visits affect some stacks more than others, in words; empty without an
    invalid visit."""
    how: tuple[str, ...]
    """Program, machine and browsers that made the visits, see `dragstrip_papers.provenance`."""
    commands: tuple[str, ...]
    controls: tuple[Control, ...]
    """Results of the study's controls on the testbed; none for a study without controls."""
    changed: dict[str, str] = {}
    """What stacks have of their own, unlike the paper's studies, in words."""
    elsewhere: str = ""
    """If the study's capsule is missing: the table of loads that stands for it, with its folder."""


class Ran(Struct, frozen=True, kw_only=True):
    """A record of all that was run."""

    client: ClientName = "browser"
    clock: Clock = REAL
    then: tuple[str, ...] = ()
    """Versions of the rules at the time when visits began, each once; empty for a start that
    recorded none. Older campaigns recorded digests, see `dragstrip_papers.frozen`."""
    began: str = ""
    """Date of the last start, as in 2026-11-25; empty without one."""
    made: tuple[Made, ...] = ()


def ran_in(folders: Sequence[Path], loads: pl.DataFrame) -> Ran:
    """Return the record of the capsules `folders`; `loads` are their loads that count.

    Raises `InputError` if a browser made some loads and the load generator others.
    """
    capsules = [Capsule.open(folder) for folder in folders]
    starts = [start for capsule in capsules for start in capsule.manifest.starts]
    return Ran(
        client=client_of(folders),
        clock=capsules[0].manifest.study.clock if capsules else REAL,
        then=tuple(dict.fromkeys(start.frozen for start in starts)),
        began=max((start.started[:10] for start in starts), default=""),
        made=tuple(_made(capsule, loads) for capsule in capsules),
    )


def numbers(folders: Sequence[Path]) -> Mapping[Key, int]:
    """Return the number of every cell of these capsules in its study, from 1."""
    studies = [Capsule.open(folder).manifest.study for folder in folders]
    return {(s.name, *cell): n for s in studies for n, cell in enumerate(s.cells(), start=1)}


def joined(parts: Sequence[Ran]) -> Ran:
    """Join several records. All loads must come from one client and one clock."""
    seen = [part for part in parts if part.made] or list(parts[:1]) or [Ran()]
    return structs.replace(
        seen[0],
        then=tuple(dict.fromkeys(rules for part in seen for rules in part.then)),
        began=max(part.began for part in seen),
        made=tuple(made for part in seen for made in part.made),
    )


def _made(capsule: Capsule, loads: pl.DataFrame) -> Made:
    study, visits = capsule.manifest.study, list(capsule.visits())
    refresh(capsule)
    return Made(
        study=study.name,
        visits=len(visits),
        invalid=sum(not v.valid for v in visits),
        reasons=dict(Counter(code for v in visits for code in {r.code for r in v.reasons})),
        cells=loads.filter(study=study.name).select(CELL).unique().height,
        bias=sentence(bias(visits, [s.name for s in study.visited])),
        how=made_by(capsule.manifest.starts),
        commands=commands(capsule.manifest.starts),
        controls=tuple(controls(study, scan(capsule, "visits"))),
        changed=changed(study.stacks),
    )
