"""Makes pages that are known by name: the papers' grids, stand-ins for the papers' sites, and
recordings.

A stand-in has the numbers of objects, bytes and hosts that the paper gives for its page. Its
content is made up, and its `source` says so. Each set lists the choices that its paper leaves open.
A fitted stand-in is as fast as the page of a site was measured to be, and not otherwise like it. So
it has a number instead of that site's name.
"""

import random
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Literal

import msgspec
from msgspec import Struct

from dragstrip.pages.format.recording import Recording
from dragstrip.pages.generators.standin import LeadPicture, standin
from dragstrip.pages.generators.synth import parse_spec, synth

STAND_IN = "a made-up stand-in"
"""Start of the source of a page that is a stand-in."""


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
    like: str = ""
    """Site whose measured times a fitted stand-in has."""
    lead: LeadPicture | None = None
    """What a fitted stand-in shows first."""
    source: str

    @property
    def label(self) -> str:
        """The page's name in a capsule, such as ``wolsing2019-standin-09``, and what it has of a
        site."""
        name = self.name.replace("/", "-")
        return f"{name} ({self.like}'s SpeedIndex)" if self.like else name


class _Site(Struct, forbid_unknown_fields=True):
    objects: int
    size: int
    hosts: int = 1
    like: str = ""
    lead: LeadPicture | None = None


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


@cache
def labels() -> Mapping[str, str]:
    """Return labels of fitted stand-ins by their names in a capsule."""
    return {page.name.replace("/", "-"): page.label for page in known().values() if page.like}


def label(page: str) -> str:
    """Return what to print for a page of a capsule: the label of a fitted stand-in, or the name."""
    return labels().get(page, page)


def instead_of(page: str) -> str:
    """Return what replaced a stand-in that had the name of its site; empty for other names."""
    given, _, site = page.partition("/")
    for now in known().values():
        if now.like == site and now.name.startswith(f"{given}/"):
            return now.name
    return ""


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
            like=site.like,
            lead=site.lead,
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

    whose = f"with {page.like}'s SpeedIndex" if page.like else f"for {page.name}"
    return make(
        standin(
            name,
            objects=page.objects,
            size=page.size,
            hosts=page.hosts,
            lead=page.lead,
            source=f"{STAND_IN} {whose}: {page.source}",
        )
    )
