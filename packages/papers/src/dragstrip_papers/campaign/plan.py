"""Plans which part of a paper to run, at which scale, and into which capsules.

A paper's folder holds a capsule for each of its studies, with the study's name. A larger scale
continues the same capsules: cells and runs are only ever added.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import ceil
from pathlib import Path

import polars as pl
from msgspec import Struct, structs

from dragstrip.model.errors import InputError
from dragstrip.model.study import CellKey, Slow, Study
from dragstrip.pages.resolve import expand, named
from dragstrip.results.capsule import MANIFEST, Capsule
from dragstrip.schedule.scale import share_of
from dragstrip.study.spec import StudySpec
from dragstrip_papers.campaign.choose import choose, cost_s
from dragstrip_papers.campaign.pace import pace
from dragstrip_papers.campaign.space import CELL, reach, space, union
from dragstrip_papers.claims import Claim, Published
from dragstrip_papers.predicates import stacks_of

SMOKE_RUNS = 5
"""Runs at the scale `smoke`. With fewer runs, hardly any interval would decide a claim."""
SMOKE_RERUNS = 1
SMOKE_SHARE = 0.8
"""Share of the time that is planned. The rest is for reruns: a cell whose reruns are interrupted
decides no claim."""
_RACE = 2
"""Fewest stacks in a race."""


Cells = frozenset[tuple[str, ...]]
"""Cells, each as study, page, network and connection."""


class Part(Struct, frozen=True, kw_only=True):
    """The part of one study that will be run."""

    spec: StudySpec
    cells: pl.DataFrame
    """Rows of `dragstrip_papers.campaign.space`."""
    total: int
    """Number of cells of the whole study."""
    runs: int
    reruns: int | None = None
    """Number of reruns of an invalid block; None keeps the study's own."""
    slow: Slow | None = None

    @property
    def keys(self) -> frozenset[CellKey]:
        """Keys of the part's cells."""
        return frozenset(self.cells.select(CELL).iter_rows())

    @property
    def visits(self) -> int:
        """Number of visits, including those of the controls."""
        return len(self.cells) * self.spec.visits_in(self.runs)

    @property
    def seconds(self) -> float:
        every = range(len(self.cells))
        if not self.slow or self.slow.runs >= self.runs:
            return cost_s(self.cells, every, self.runs)
        long_s = self.slow.over_s * self.spec.visits_per_block
        blocks_s: list[float] = self.cells["block_s"].to_list()
        quick_s = sum(s for s in blocks_s if s < long_s)
        return cost_s(self.cells, every, self.slow.runs) + (self.runs - self.slow.runs) * quick_s


def campaign(
    paper: Published,
    specs: Sequence[StudySpec],
    scale: str,
    budget_s: float,
    there: Cells = frozenset(),
    *,
    slow: Slow | None = None,
    virtual: bool = False,
    claims: Sequence[Claim] = (),
    networks: Sequence[str] = (),
) -> list[Part]:
    """Return the parts to run. At scale `smoke` these are the cells that exist and those that fit
    the budget, at `paper` or a share of 1 every cell.

    With a budget of zero there are no parts, not even for cells that exist. A share scales the
    runs; slow cells have the runs that `slow` gives. With `virtual`, a cell costs its computing
    time. `claims` and `networks` narrow the cells to those that the claims are about, and to these
    networks. Raises `InputError` for any other scale, and for an unknown network.
    """
    whole = space(specs, paper.parts)
    if virtual:
        whole = whole.with_columns(block_s=_virtual_block_s(specs))
    cells = _over(networks, whole)
    cells = asked_for(claims, cells) if claims else cells
    if scale == "smoke":
        predicates = [claim.predicate for claim in claims or paper.claims]
        have = [i for i, key in enumerate(_keys(cells)) if budget_s and key in there]
        kept = cells[choose(cells, predicates, SMOKE_RUNS, SMOKE_SHARE * budget_s, have)]
    else:
        kept = cells
    share = share_of(scale)
    return [
        Part(
            spec=spec,
            cells=kept.filter(study=spec.name),
            total=len(whole.filter(study=spec.name)),
            runs=min(SMOKE_RUNS, spec.runs) if share is None else ceil(spec.runs * share),
            reruns=SMOKE_RERUNS if share is None else None,
            slow=slow or spec.slow,
        )
        for spec in specs
    ]


def _over(networks: Sequence[str], cells: pl.DataFrame) -> pl.DataFrame:
    """Return the cells on these networks; all cells if no network is named. Raises `InputError`."""
    _check("network", networks, "studies have", cells["network"].unique(maintain_order=True))
    return cells.filter(pl.col("network").is_in(networks)) if networks else cells


def _virtual_block_s(specs: Sequence[StudySpec]) -> pl.Expr:
    visited = {o.name: o.visits_per_block for o in specs}
    loader = any(stack.loaded_by.follows_graphs for o in specs for stack in o.stacks)
    return pace().visit_s(loader=loader) * pl.col("study").replace_strict(visited)


def present(folder: Path, specs: Sequence[StudySpec]) -> Cells:
    """Return the cells that the capsules in a paper's folder have."""
    return frozenset((o.name, *cell) for o in specs for cell in _cells_of(folder / o.name))


def beyond(parts: Sequence[Part], there: Cells) -> list[Part]:
    """Return the parts with only those of their cells that are not in `there`."""
    return [
        structs.replace(part, cells=part.cells.filter([k not in there for k in _keys(part.cells)]))
        for part in parts
    ]


def _keys(cells: pl.DataFrame) -> Iterator[tuple[str, ...]]:
    return cells.select("study", *CELL).iter_rows()


def of_ones_own(specs: Sequence[StudySpec], pages: Sequence[str]) -> list[StudySpec]:
    """Return the studies of a paper with `pages` instead of the paper's pages; unchanged if `pages`
    is empty."""
    if not pages:
        return list(specs)
    own = tuple(p for given in pages for p in expand(given))
    return [structs.replace(spec, pages=own) for spec in specs]


def asked_about(specs: Sequence[StudySpec], pages: Sequence[str]) -> list[StudySpec]:
    """Return the studies that answers are about. If the user names pages of the paper, only the
    visits are narrowed, not the claims. The user's own pages replace the paper's for both."""
    theirs = {page for spec in specs for page in spec.pages}
    own = of_ones_own(specs, pages)
    return list(specs) if all(theirs.issuperset(o.pages) for o in own) else own


def chosen(specs: Sequence[StudySpec], names: Sequence[str]) -> list[StudySpec]:
    """Return the named studies of a paper, or all if no name is given. Raises `InputError`."""
    _check("study", names, "paper has", [spec.name for spec in specs])
    return [spec for spec in specs if spec.name in names or not names]


def _check(option: str, names: Sequence[str], has: str, known: Iterable[str]) -> None:
    """Check the names of an option. Raises `InputError` for an unknown name."""
    every = dict.fromkeys(known)
    for name in names:
        if name not in every:
            raise InputError(f"--{option} {name!r}: the {has} {', '.join(every)}")


def claims_named(paper: Published, names: Sequence[str]) -> list[Claim]:
    """Return claims, given by their whole names or by the numbers at the end of these. Raises
    `InputError`."""
    known = {claim.id.rpartition("-")[2]: claim for claim in paper.claims}
    found = []
    for name in names:
        claim = known.get(name.removeprefix(f"{paper.key}-"))
        if claim is None:
            raise InputError(
                f"--claim {name!r}: {paper.key} has claims {min(known)} to {max(known)}"
            )
        if claim.predicate is None:
            raise InputError(
                f"--claim {name!r}: it has no rule, so no visit answers it; leave it out"
            )
        found.append(claim)
    return found


def spoken_of(
    specs: Sequence[StudySpec],
    claims: Sequence[Claim],
    parts: Mapping[str, str],
    folder: Path,
    names: Sequence[str] = (),
) -> list[StudySpec]:
    """Return the studies with the stacks that the claims name (at least two) and the stacks that
    their capsules in `folder` have; without claims, with all stacks. With `names`, the studies have
    only these stacks, and studies with fewer than two of them are left out. Raises `InputError` for
    a name that no study has, and if no study is left."""
    if not claims and not names:
        return list(specs)
    every = [stack.name for spec in specs for stack in spec.stacks]
    _check("stack", names, "studies have", every)
    found = []
    for spec in specs:
        asked = [stack.name for stack in spec.stacks if not names or stack.name in names]
        if names and len(asked) < _RACE:
            continue
        kept = _said(claims, asked, parts) if claims else asked
        if there := _study_in(folder / spec.name):
            kept += [stack.name for stack in there.stacks]
        stacks = tuple(stack for stack in spec.stacks if stack.name in kept)
        found.append(structs.replace(spec, stacks=stacks))
    if names and not found:
        raise InputError(f"--stack {', '.join(names)}: no study has two of these; name more")
    return found


def _said(claims: Sequence[Claim], names: Sequence[str], parts: Mapping[str, str]) -> list[str]:
    """Return the stacks that the claims name, and others if that is needed for a race."""
    roles = {name: parts.get(name, name) for name in names}
    said = {r for c in claims if c.predicate for r in stacks_of(c.predicate, roles.values())}
    kept = [name for name, role in roles.items() if role in said]
    others = [name for name in names if name not in kept]
    return kept + others[: max(0, _RACE - len(kept))]


def asked_for(claims: Iterable[Claim], cells: pl.DataFrame) -> pl.DataFrame:
    """Return the cells of a space that any of these claims is about. Raises `InputError` if a claim
    is about none of the cells."""
    frames = []
    for claim in claims:
        found = reach(claim.predicate, cells)
        if found.is_empty():
            studies = ", ".join(cells["study"].unique(maintain_order=True)) or "no study"
            raise InputError(f"--claim {claim.id}: it looks at no cell of {studies}")
        frames.append(found)
    return union(frames)


def study_of(part: Part, folder: Path, cache: Path) -> Study:
    """Return the study that a part runs. It includes the cells that its capsule in `folder` already
    has, and their pages."""
    spec = part.spec
    there = _study_in(folder / spec.name)
    wanted = {*(there.cells() if there else ()), *part.keys}
    pages = {page for page, _, _ in wanted}
    networks = {network for _, network, _ in wanted}
    study = structs.replace(
        spec,
        pages=[given for given in spec.pages if named(given) in pages],
        networks=[n for n in spec.networks if n.name in networks],
        runs=part.runs,
        slow=part.slow,
    ).resolve(cache)
    own = {page.name for page in study.pages}
    others = tuple(p for p in there.pages if p.name not in own) if there else ()
    study = structs.replace(study, pages=(*others, *study.pages))
    reruns = study.reruns if part.reruns is None else part.reruns
    only = tuple(cell for cell in study.cells() if cell in wanted)
    return structs.replace(study, reruns=reruns, only=only)


def capsules_of(folder: Path, specs: Sequence[StudySpec]) -> list[Path]:
    """Return the capsules in a paper's folder that exist."""
    return [f for o in specs if ((f := folder / o.name) / MANIFEST).exists()]


def _cells_of(folder: Path) -> list[CellKey]:
    study = _study_in(folder)
    return study.cells() if study else []


def _study_in(folder: Path) -> Study | None:
    """Return the study of the capsule in `folder`; None if there is no capsule."""
    return Capsule.open(folder).manifest.study if (folder / MANIFEST).exists() else None
