"""The recipe of the guest's kernel, and where built kernels are kept."""

import hashlib
import platform
from functools import cache
from importlib import resources
from pathlib import Path

from dragstrip.testbed.cache import cache_folder
from dragstrip.testbed.errors import TestbedError

PACKAGE = "linux-source-7.2"
SUITE = "sid"
"""The Debian suite whose package of kernel sources is used. Release 7.2.13 was tried. Another
release works if the files that we change are the same; the built kernel then has another name."""
LICENCE = "GPL-2.0, as are our changes to it"
BYTES = 160_000_000
"""Approximate download size of the sources, in bytes."""
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
"""Programs needed to build the kernel, with the Debian package of each."""


def rules() -> Path:
    """Return the file with our changes to the sources, see `dragstrip.testbed.legacy.rewrite`."""
    return _beside("rules.toml")


def options() -> list[tuple[str, str]]:
    """Kernel options beyond the defaults, each with its value: ``y``, ``n`` or a number."""
    values = []
    for line in _beside("options.txt").read_text().splitlines():
        word = line.strip()
        if not word or word.startswith("#"):
            continue
        name, _, value = word.partition("=")
        values.append((name[1:], "n") if name.startswith("-") else (name, value or "y"))
    return values


@cache
def digest() -> str:
    """Return a digest of options and changes: 12 hexadecimal digits."""
    recipe = hashlib.sha256()
    for path in (rules(), _beside("options.txt")):
        recipe.update(path.read_bytes())
    return recipe.hexdigest()[:12]


def root() -> Path:
    """Return the folder of all built kernels. It can be deleted."""
    return cache_folder("virtual")


def installed() -> Path | None:
    """Return the newest installed kernel of this recipe; None if there is none."""
    kernels = sorted(root().glob(f"linux-*-{digest()}/linux"), key=_version)
    return kernels[-1] if kernels else None


def unfit() -> str:
    """Return why this machine cannot run a guest's kernel; empty if it can."""
    machine = platform.machine()
    if machine == "x86_64":
        return ""
    return f"virtual time needs an x86-64 machine: user-mode Linux does not run on {machine}"


def kernel() -> Path:
    """Return the path of the guest's kernel. Raises `TestbedError`, which says how to get a
    kernel."""
    path = installed()
    if not path:
        missing = "the kernel for virtual time is missing: dragstrip virtual install"
        raise TestbedError(unfit() or missing)
    return path


def name_of(kernel: Path) -> str:
    """Return the kernel's version and the digest of its recipe, such as
    ``linux-7.2.13-0123456789ab``."""
    return kernel.parent.name


def _version(kernel: Path) -> tuple[int, ...]:
    return tuple(int(n) for n in kernel.parent.name.split("-")[1].split(".") if n.isdecimal())


def _beside(name: str) -> Path:
    return Path(str(resources.files(__package__).joinpath(name)))
