"""Makes pages that are known by name: the papers' grids, stand-ins for the papers' sites, and
recordings.

A stand-in has the numbers of objects, bytes and hosts that the paper gives for its page. Its
content is made up, and its `source` says so. Each set lists the choices that its paper leaves open.
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
    """Number of objects. It includes the document of a stand-in, but not the document of a
    synthetic page."""
    size: int
    """Total bytes of the bodies that count in `objects`."""
    hosts: int
    spec: str = ""
    """Specification of a synthetic page, see `synth`."""
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
    """Return all pages by name, from corpus.toml."""
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
    """Make the page. The bytes are the same each time with the same version of Pillow."""
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
