"""Chooses the client that visits a paper's cells: a browser or the load generator, never both."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

from msgspec import structs

from dragstrip.model.browsers import LOADER
from dragstrip.model.errors import InputError
from dragstrip.results.capsule import Capsule
from dragstrip.study.clients import loaded_by
from dragstrip.study.spec import StudySpec

ClientName = Literal["browser", "loader"]
WITH_CACHE = "repeat-cached"
"""The connection mode that the load generator cannot use: it has no cache."""


def by_client(specs: Iterable[StudySpec], client: str) -> list[StudySpec]:
    """Return the studies, visited by this client. Raises `InputError`."""
    return [structs.replace(o, stacks=loaded_by(o.stacks, client)) for o in specs]


def makeable(specs: Iterable[StudySpec], client: str) -> list[StudySpec]:
    """Return the parts of these studies that the client can visit: the load generator has no frames
    and no cache."""
    if client != LOADER:
        return list(specs)
    return [
        structs.replace(
            spec,
            client=structs.replace(spec.client, frames=False),
            connections=tuple(c for c in spec.connections if c != WITH_CACHE),
        )
        for spec in specs
    ]


def client_of(folders: Sequence[Path]) -> ClientName:
    """Return the client that made the visits of these capsules. Raises `InputError` if both clients
    did."""
    made = {Capsule.open(folder).manifest.study.predicted: folder for folder in folders}
    if len(made) > 1:
        raise InputError(
            f"the load generator made {made[True]} and a browser made {made[False]}: they are no "
            "evidence together; give each its own folder"
        )
    return "loader" if True in made else "browser"


def check_client(folders: Sequence[Path], client: str) -> None:
    """Raise `InputError` unless this client made all visits of these capsules."""
    if not folders or (made := client_of(folders)) == client:
        return
    if made == LOADER:
        said, way = "the load generator made its visits", "add --client loader"
    else:
        said, way = "a browser made its visits", "leave out --client loader"
    raise InputError(f"{folders[0]}: {said}, and clients are never mixed: {way}, or another --out")
