"""What the guest's kernel is built from, and where it lies once it is built."""

import hashlib
import platform
from functools import cache
from importlib import resources
from pathlib import Path

from dragstrip.testbed.cache import cache_folder
from dragstrip.testbed.errors import TestbedError

PACKAGE = "linux-source-7.2"
SUITE = "sid"
"""The Debian package with the sources, and the suite that has it. Its release 7.2.13 was tried.
Another is taken if the files to be changed are the same; it is then another kernel by name."""
LICENCE = "GPL-2.0, as are our changes to it"
BYTES = 160_000_000
"""About what crosses the network."""
PROGRAMS = {
    "apt-get": "apt",
    "bc": "bc",
    "bison": "bison",
    "dpkg-deb": "dpkg",
    "flex": "flex",
    "gcc": "gcc",
    "make": "make",
    "tar": "tar",
    "xz": "xz-utils",
}
"""Needed to build it, with the Debian package of each."""


def rules() -> Path:
    """The changes to its sources, see `dragstrip.testbed.legacy.rewrite`."""
    return _beside("rules.toml")


def options() -> list[tuple[str, str]]:
    """Kernel options beyond the defaults, with the value of each: ``y``, ``n`` or a number."""
    found = []
    for line in _beside("options.txt").read_text().splitlines():
        word = line.strip()
        if not word or word.startswith("#"):
            continue
        name, _, value = word.partition("=")
        found.append((name[1:], "n") if name.startswith("-") else (name, value or "y"))
    return found


@cache
def digest() -> str:
    """A digest of options and changes: 12 hexadecimal digits."""
    recipe = hashlib.sha256()
    for path in (rules(), _beside("options.txt")):
        recipe.update(path.read_bytes())
    return recipe.hexdigest()[:12]


def root() -> Path:
    """Where built kernels are kept; removing it removes them all."""
    return cache_folder("virtual")


def installed() -> Path | None:
    """The newest kernel of this recipe, if there is one."""
    found = sorted(root().glob(f"linux-*-{digest()}/linux"), key=_version)
    return found[-1] if found else None


def unfit() -> str:
    """Why this machine cannot run such a kernel, or nothing."""
    machine = platform.machine()
    if machine == "x86_64":
        return ""
    return f"virtual time needs an x86-64 machine: user-mode Linux does not run on {machine}"


def kernel() -> Path:
    """The guest's kernel. Raises `TestbedError` with what to do where there is none."""
    found = installed()
    if not found:
        missing = "the kernel for virtual time is missing: dragstrip virtual install"
        raise TestbedError(unfit() or missing)
    return found


def name_of(kernel: Path) -> str:
    """Such as ``linux-7.2.13-0123456789ab``: its version, and the digest of its recipe."""
    return kernel.parent.name


def _version(kernel: Path) -> tuple[int, ...]:
    return tuple(int(n) for n in kernel.parent.name.split("-")[1].split(".") if n.isdecimal())


def _beside(name: str) -> Path:
    return Path(str(resources.files(__package__).joinpath(name)))
