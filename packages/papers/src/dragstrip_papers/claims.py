"""Reads the papers that are known by name: their studies and claims, from the folders beside this
file.

KEY/study*.toml    what a paper measured, in our study format; several if one product of pages,
                   networks and stacks is not enough
KEY/claims.toml    [paper], then a [[claim]] each
"""

from collections.abc import Iterable
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Literal

import msgspec
from msgspec import Struct, structs

from dragstrip.model.errors import InputError
from dragstrip.model.stack import Stack
from dragstrip.study.file import read_spec
from dragstrip.study.networks import placed
from dragstrip.study.presets import find_stack
from dragstrip.study.spec import StudySpec
from dragstrip.verdict.rules import VERSION as VERDICT
from dragstrip_papers.answer import Answer
from dragstrip_papers.deciding import decide
from dragstrip_papers.measured import Evidence
from dragstrip_papers.predicates import VERSION as PREDICATES
from dragstrip_papers.predicates import AnyPredicate, stacks_of
from dragstrip_papers.sources import Source

KEYS = ("biswal2016", "megyesi2016", "cook2017", "wolsing2019", "ranjan2019")
"""Keys of the five papers whose testbeds dragstrip provides."""
KNOWN = (*KEYS, "literature")
"""Keys of the papers, and of `literature`: what others published later, as one paper with many
sources."""
Tier = Literal["must", "should", "historic", "setup", "cited", "refuted"]
"""The kind of a claim. `must`: physics or direction. `should`: magnitude. `historic`: about the
implementations of its time. `setup`: a property of what was measured. `cited`: second-hand.
`refuted`: contradicted by an audit of the published data."""


class Paper(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    version: int
    """Version of the claims. Every change of a claim that can change its answer raises the
    version."""
    title: str
    authors: str
    venue: str
    stands_for: dict[str, str]
    """The paper's stack, by the name of our stack that stands for it. Every output calls our stack
    a surrogate."""
    native: dict[str, str] = {}
    """Stack with the paper's own protocol, in a browser of its time, by surrogate."""
    metrics: list[str] = []
    """The default metric of claims, followed by other metrics to show."""
    choices: list[str] = []
    """Choices that the paper leaves open, and how we made each."""
    real_time: list[str] = []
    """Studies that virtual time cannot answer, because they depend on time for computing."""


class Claim(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    id: str
    source: str = ""
    """Key of the source that states the claim, for a paper with several sources."""
    section: str
    tier: Tier
    says: str
    """The claim in our own words."""
    published: str
    """The published number or direction, in short."""
    tolerance: str = ""
    note: str = ""
    predicate: AnyPredicate | None = None
    untestable: str = ""
    """Why the claim has no predicate; empty if it has one."""
    derived: str = ""
    """Why the claim's answer follows from arithmetic or from our setup; otherwise empty. Such an
    answer says nothing new about the paper, whatever our loads show."""
    live: str = ""
    """Why the networks of our cells only stand for the paper's networks; otherwise empty. Then the
    claim's size cannot be tested."""
    restates: str = ""
    """The claim that gives this number in another unit. A claim that restates is answered, but not
    counted."""

    def __post_init__(self) -> None:
        if (self.predicate is None) != bool(self.untestable):
            raise ValueError(f"{self.id}: give either predicate or untestable")
        if self.predicate is None and self.tier in ("must", "should"):
            raise ValueError(f"{self.id}: a claim of tier {self.tier} needs a predicate")

    def answer(self, evidence: Evidence, *, frames: bool = False) -> Answer:
        """Return the claim's answer from these loads. For `frames` see
        `dragstrip_papers.deciding`."""
        if self.predicate is None:
            return Answer(verdict="not testable", why=self.untestable)
        answer = decide(self.predicate, evidence, standin=self.live, frames=frames)
        if not self.derived:
            return answer
        told = structs.replace(answer, verdict="derived", why=self.derived)
        return structs.replace(told, direction=None, size=None)


class Published(Struct, frozen=True, kw_only=True):
    """A paper with all its claims."""

    key: str
    paper: Paper
    claims: tuple[Claim, ...]
    studies: tuple[Traversable, ...]
    """Study files of the paper, the main one first."""
    sources: tuple[Source, ...] = ()
    """The publications that state the claims, if there are several."""
    cast: dict[str, str] = {}
    """Stack that plays the part of each surrogate; empty if surrogates are used themselves."""

    def native(self) -> "Published":
        """Return the paper with stacks of its own time. Raises `InputError` if none are
        available."""
        if not self.paper.native:
            raise InputError(f"{self.key}: no stack of its time is available")
        return structs.replace(self, cast=self.paper.native)

    def specs(self) -> list[StudySpec]:
        """Return the specifications of the paper's studies. Raises `InputError` for a file with an
        error."""
        found = []
        for file in self.studies:
            with resources.as_file(file) as path:
                found.append(read_spec(path))
        if not self.cast:
            return found
        played = [self._played(spec) for spec in found]
        return [spec for spec in played if len(spec.stacks) > 1]

    def _played(self, spec: StudySpec) -> StudySpec:
        names = [self.cast[s.name] for s in spec.stacks if s.name in self.cast]
        return structs.replace(spec, stacks=tuple(map(find_stack, names)))

    def in_virtual_time(self, specs: Iterable[StudySpec]) -> list[StudySpec]:
        """Return the studies of the paper that virtual time can answer."""
        return [spec for spec in specs if spec.name not in self.paper.real_time]

    @property
    def rules(self) -> str:
        """Version of the rules that answer, such as ``1.1.17``: of the paper's claims, of the
        predicates and of the verdict."""
        return f"{self.paper.version}.{PREDICATES}.{VERDICT}"

    @property
    def parts(self) -> dict[str, str]:
        """The name of the part that each playing stack has."""
        return {player: part for part, player in self.cast.items()}

    def stacks(self, specs: Iterable[StudySpec]) -> dict[str, Stack]:
        """Return all stacks of the studies in their order, under the names that claims use."""
        found = {}
        for stack in (s for spec in specs for s in spec.stacks):
            part = self.parts.get(stack.name, stack.name)
            found[part] = structs.replace(stack, name=part)
        return found

    @property
    def stands_for(self) -> dict[str, str]:
        """What each of our stacks stands for in the paper; empty if the paper's own stacks are
        run."""
        return {} if self.cast else self.paper.stands_for

    def surrogates(self, predicate: AnyPredicate) -> dict[str, str]:
        """Return the stacks that a predicate names and that stand for other stacks."""
        return _of(predicate, self.stands_for)

    def players(self, predicate: AnyPredicate) -> dict[str, str]:
        """Return the parts of `cast` that a predicate names, with the stacks that play them."""
        return _of(predicate, self.cast)


def _of(predicate: AnyPredicate, stacks: dict[str, str]) -> dict[str, str]:
    named = stacks_of(predicate, stacks)
    return {stack: words for stack, words in stacks.items() if stack in named}


class _File(Struct, forbid_unknown_fields=True, kw_only=True):
    paper: Paper
    source: list[Source] = []
    claim: list[Claim]

    def __post_init__(self) -> None:
        known = {source.id for source in self.source} or {""}
        for claim in self.claim:
            if claim.source not in known:
                raise ValueError(f"{claim.id}: its source {claim.source!r} is none of the file's")


@cache
def published(key: str) -> Published:
    """Return a paper by name. Raises `InputError` for an unknown name or a file with an error."""
    if key not in KNOWN:
        raise InputError(f"unknown paper {key!r}; known are {', '.join(KNOWN)}")
    folder = resources.files("dragstrip_papers") / key
    file = folder / "claims.toml"
    try:
        read = msgspec.toml.decode(file.read_bytes(), type=_File)
    except msgspec.ValidationError as error:
        raise InputError(f"{file}: {placed(str(error))}") from None
    except msgspec.DecodeError as error:
        raise InputError(f"{file} is not TOML: {error}") from None
    ids = [claim.id for claim in read.claim]
    if wrong := [i for i in ids if ids.count(i) > 1 or not i.startswith(f"{key}-")]:
        raise InputError(f"{file}: claim {wrong[0]!r} stands twice or belongs to another paper")
    studies = [f for f in folder.iterdir() if f.name.startswith("study") and f.name[-5:] == ".toml"]
    return Published(
        key=key,
        paper=read.paper,
        claims=tuple(read.claim),
        sources=tuple(read.source),
        studies=tuple(sorted(studies, key=lambda f: (f.name != "study.toml", f.name))),
    )


def answers(key: str, evidence: Evidence) -> dict[str, Answer]:
    """Answer every claim of a paper; return the answers by the claim's id."""
    return {claim.id: claim.answer(evidence) for claim in published(key).claims}
