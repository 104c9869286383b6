"""Builds the guest's kernel, completely or not at all."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from dragstrip.execution.guest.kernel.recipe import PROGRAMS, digest, options, root, rules, unfit
from dragstrip.execution.guest.kernel.sources import sources, version
from dragstrip.testbed.cache import unfinished
from dragstrip.testbed.errors import TestbedError
from dragstrip.testbed.legacy.fetch import run
from dragstrip.testbed.legacy.rewrite import rewrite

BuildProgress = Callable[[str, int], None]
"""Called about five times a second with the current step and its bytes so far."""


def lacking(given: Path | None) -> str:
    """Return what this machine lacks for a build, and what to do; empty if it lacks nothing."""
    if why := unfit():
        return why
    fetching = {"apt-get", "dpkg-deb"} if given else set[str]()
    needed = {p: package for p, package in PROGRAMS.items() if p not in fetching}
    missing = {p: package for p, package in needed.items() if not shutil.which(p)}
    if not missing:
        return ""
    return f"{', '.join(missing)} missing: apt-get install {' '.join(missing.values())}"


def build(given: Path | None = None, progress: BuildProgress = lambda _what, _bytes: None) -> Path:
    """Build the kernel from the sources `given` or Debian's; returns its path.

    Raises `TestbedError` if this machine lacks a program, if our changes do not fit the sources, or
    if the build fails, and `InputError` if `given` holds no kernel sources. The kernel's folder is
    complete or does not exist, even after an error.
    """
    if lack := lacking(given):
        raise TestbedError(lack)
    with unfinished(root()) as scratch:
        work, staging = scratch / "work", scratch / "made"
        work.mkdir()
        tree = sources(work, given, lambda arrived: progress("fetching", arrived))
        progress("building", 0)
        rewrite(rules(), tree)
        built = _make(tree, scratch / "objects", lambda _: progress("building", 0))
        staging.mkdir()
        shutil.move(built, staging / "linux")
        shutil.copy(scratch / "objects" / ".config", staging / "config")
        shutil.copy(rules(), staging / "rules.toml")
        shutil.copy(tree / "COPYING", staging / "COPYING")
        staging.chmod(0o755)
        folder = root() / f"linux-{version(tree)}-{digest()}"
        shutil.rmtree(folder, ignore_errors=True)
        staging.rename(folder)
        return folder / "linux"


def _make(tree: Path, objects: Path, progress: Callable[[int], None]) -> Path:
    objects.mkdir()
    said = objects.with_name("said")
    said.mkdir()

    def make(*command: str) -> None:
        run(command, cwd=objects, environment={"LC_ALL": "C"}, watch=said, progress=progress)

    def kbuild(*words: str) -> None:
        # The same compiler gives the same bytes, whichever user builds, wherever and whenever.
        identity = ("KBUILD_BUILD_USER=dragstrip", "KBUILD_BUILD_HOST=guest")
        stamp = "KBUILD_BUILD_TIMESTAMP=Thu Jan  1 00:00:00 UTC 1970"
        make("make", "-C", str(tree), f"O={objects}", "ARCH=um", *identity, stamp, *words)

    kbuild("defconfig")
    config = str(tree / "scripts/config")
    words = [word for name, value in options() for word in _option(name, value)]
    make(config, "--file", str(objects / ".config"), *words)
    kbuild("olddefconfig")
    _refuse_unless(objects / ".config")
    kbuild(f"-j{len(os.sched_getaffinity(0))}", "linux")
    make("strip", str(objects / "linux"))
    return objects / "linux"


def _option(name: str, value: str) -> tuple[str, ...]:
    if value in ("y", "n"):
        return ("--enable" if value == "y" else "--disable", name)
    return ("--set-val", name, value)


def _refuse_unless(config: Path) -> None:
    """Raise `TestbedError` if the configuration lacks one of our options: make drops an option
    silently whose dependencies are not met."""
    there = dict(
        line.split("=", 1) for line in config.read_text().splitlines() if line[:1] not in ("#", "")
    )
    for name, value in options():
        setting = there.get(f"CONFIG_{name}", "n")
        if setting != value:
            raise TestbedError(f"these sources have no option {name}={value}: it became {setting}")
