"""Stores the answers of one run as a file in `docs/results/answers`: the content of one page of
claims."""

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from dragstrip.model.clock import ClockKind
from dragstrip.model.errors import InputError
from dragstrip_papers.answer import Verdict
from dragstrip_papers.answers.findings import Finding, Findings
from dragstrip_papers.answers.more import More
from dragstrip_papers.answers.near import Pages, Stacks

Way = Literal["native", "browser", "virtual", "loader"]
"""How a run was made. `native`: the paper's own protocols, in real time. `browser`: today's
protocols, in real time. `virtual`: today's browser in virtual time. `loader`: the load generator in
virtual time."""
WAYS: tuple[Way, ...] = ("native", "browser", "virtual", "loader")
"""All ways of running, from nearest to farthest from the paper. If two disagree, the first
counts."""
IN_VIRTUAL_TIME: frozenset[Way] = frozenset(("virtual", "loader"))


class Told(Struct, frozen=True, kw_only=True):
    """The answer to one claim."""

    id: str
    answer: Verdict
    direction: Verdict | None = None
    size: Verdict | None = None
    ours: str = ""
    """Our number with its interval; empty if there is no number."""
    why: str = ""
    more: More | None = None
    """How many more loads would decide the claim, if it is open and some of it was run."""
    printed: str = ""
    """The answer printed on the page, if today's rules give another answer or cannot tell;
    otherwise empty."""
    stacks: Stacks = "none"
    pages: Pages = "none"
    loads: int = 0
    """Fewest loads of any cell that was run."""
    run: int = 0
    """Number of cells that were run."""
    caveats: tuple[str, ...] = ()
    """Notes that must accompany the answer."""
    unended: str = ""
    """Loads that did not end, by stack, if the number includes them: ``10 of QUIC``."""


class Given(Struct, frozen=True, kw_only=True):
    """The answers of one run of a paper's studies."""

    paper: str
    page: str
    """The page of claims in docs/results, without its suffix."""
    way: Way
    clock: ClockKind
    made: str
    """Date of the run, as in 2026-11-25."""
    rules: str
    """Version of the rules that answered, or their digest in older files; empty if not recorded."""
    frozen: bool
    """Whether these rules were fixed before the first visit."""
    source: Literal["capsule", "published page"]
    command: str
    """Command that makes this file again; empty for a published page."""
    aside: str = ""
    """Why these answers rank behind those of all other runs, namely what the run asks that the
    paper does not; otherwise empty."""
    answers: tuple[Told, ...]


def read(folder: Path) -> list[Given]:
    """Return all files of a folder, by name. Raises `InputError` for a file with an error."""
    found = []
    for file in sorted(folder.glob("*.json")):
        try:
            found.append(msgspec.json.decode(file.read_bytes(), type=Given))
        except msgspec.DecodeError as error:
            raise InputError(f"{file}: {error}") from None
    return found


def write(folder: Path, given: Given) -> Path:
    """Write one answer per line, so that changes are easy to read."""
    rows = [msgspec.json.encode(told).decode() for told in given.answers]
    head = msgspec.to_builtins(given) | {"answers": []}
    text = msgspec.json.encode(head).decode().removesuffix("[]}")
    target = folder / f"{given.page}.json"
    target.write_text(text + "[\n" + ",\n".join(rows) + "\n]}\n", encoding="utf-8")
    return target


def of_folder(folder: Path, page: str, command: str) -> Given:
    """Return the answers in `claims.json` of a paper's folder.

    Raises `InputError` if there are no claims, if nothing was run, or if the load generator made
    the visits in real time.
    """
    file = folder / "claims.json"
    if not file.exists():
        raise InputError(f"{folder} has no claims.json: dragstrip reproduce KEY writes it")
    return of_findings(msgspec.json.decode(file.read_bytes(), type=Findings), folder, page, command)


def of_findings(found: Findings, source: Path, page: str, command: str) -> Given:
    """Return the answers `found` in a folder or in a table of loads. Raises `InputError` as
    `of_folder` does."""
    if not found.made:
        raise InputError(f"{source}: nothing was run, so there is no answer to keep")
    return Given(
        paper=found.paper,
        page=page,
        way=_way(found, source),
        clock=found.clock.kind,
        made=found.began,
        rules=found.frozen.now,
        frozen=set(found.frozen.then) == {found.frozen.now},
        source="capsule",
        command=command,
        answers=tuple(map(_told, found.claims)),
    )


def _way(found: Findings, folder: Path) -> Way:
    if found.client == "loader":
        if not found.clock.virtual:
            raise InputError(
                f"{folder}: the load generator's answers are kept from virtual time only, "
                "where they are exact: run it with --virtual"
            )
        return "loader"
    if found.clock.virtual:
        return "virtual"
    return "native" if found.cast else "browser"


def _told(claim: Finding) -> Told:
    return Told(
        id=claim.id,
        answer=claim.verdict,
        direction=claim.direction,
        size=claim.size,
        ours=claim.ours,
        why=claim.why,
        caveats=(*claim.near.changed, *claim.caveats),
        more=claim.more,
        stacks=claim.near.stacks,
        pages=claim.near.pages,
        loads=claim.near.loads,
        run=claim.near.run,
    )


def of_claim(given: Iterable[Given], claim: str) -> list[tuple[Given, Told]]:
    """Return all answers to a claim."""
    return [(page, told) for page in given for told in page.answers if told.id == claim]
