"""Pages that are known by name: the papers' grids, stand-ins for the papers' sites, and recordings.

A stand-in has the shape that the paper gives for its page; its content is made up, and its source
says so. Each set names the choices that its paper leaves open.
"""

import random
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Literal

import msgspec
from msgspec import Struct

from dragstrip.pages.format.recording import Recording
from dragstrip.pages.generators.standin import standin
from dragstrip.pages.generators.synth import parse_spec, synth


class Known(Struct, frozen=True, kw_only=True):
    """A page that can be made."""

    name: str
    """``set/page``, as PAGE on the command line and in studies."""
    kind: Literal["synthetic", "stand-in"]
    objects: int
    """Number of objects: without the document of a synthetic page, with everything of a
    stand-in."""
    size: int
    """Bytes of all bodies; for a synthetic page those of its objects."""
    hosts: int
    spec: str = ""
    """What `synth` makes it of."""
    source: str


class _Site(Struct, forbid_unknown_fields=True):
    objects: int
    size: int
    hosts: int = 1


class _Set(Struct, forbid_unknown_fields=True, kw_only=True):
    source: str
    synth: dict[str, str] = {}
    standin: dict[str, _Site] = {}


@cache
def known() -> Mapping[str, Known]:
    """Name to page, from corpus.toml."""
    text = resources.files("dragstrip.pages").joinpath("corpus.toml").read_bytes()
    sets = msgspec.toml.decode(text, type=dict[str, _Set])
    found = [page for name, pages in sets.items() for page in _pages(name, pages)]
    return {page.name: page for page in found}


def _pages(name: str, pages: _Set) -> list[Known]:
    grid = []
    for page, spec in pages.synth.items():
        parsed = parse_spec(spec)
        grid.append(
            Known(
                name=f"{name}/{page}",
                kind="synthetic",
                objects=parsed.count,
                size=sum(parsed.sizes(random.Random(0))),
                hosts=parsed.hosts,
                spec=spec,
                source=pages.source,
            )
        )
    return grid + [
        Known(
            name=f"{name}/{page}",
            kind="stand-in",
            objects=site.objects,
            size=site.size,
            hosts=site.hosts,
            source=pages.source,
        )
        for page, site in pages.standin.items()
    ]


def recording(page: Known) -> Recording:
    """Make it. Equal bytes every time, given the same Pillow."""
    name = page.name.replace("/", "-")
    if page.kind == "synthetic":
        made = synth(page.spec)
        return msgspec.structs.replace(
            made, name=name, source=f"{made.source}; {page.name}: {page.source}"
        )
    from dragstrip.pages.made.assembly import make  # drawing loads slowly

    return make(
        standin(
            name,
            objects=page.objects,
            size=page.size,
            hosts=page.hosts,
            source=f"a made-up stand-in for {page.name}: {page.source}",
        )
    )
