"""Installs an item of the catalogue, completely or not at all."""

import ctypes
import shutil
from collections.abc import Iterable

from dragstrip.testbed.cache import cache_folder, unfinished
from dragstrip.testbed.errors import TestbedError
from dragstrip.testbed.legacy.build_cpp import build_cpp
from dragstrip.testbed.legacy.build_go import build_go
from dragstrip.testbed.legacy.build_maven import build_maven
from dragstrip.testbed.legacy.build_npm import build_npm
from dragstrip.testbed.legacy.catalogue import Item
from dragstrip.testbed.legacy.fetch import CLIENT_PROGRAMS, Progress, fetch
from dragstrip.testbed.legacy.unpack import unpack


def install(item: Item, progress: Progress = lambda _: None) -> None:
    """Fetch or build `item`, unless it is installed. Raises `TestbedError`.

    The item's folder is complete or does not exist, even after an error.
    """
    if item.installed:
        return
    with unfinished(cache_folder("legacy")) as scratch:
        made = scratch / "made"
        work = scratch / "work"
        work.mkdir()
        if item.registry == "go":
            build_go(item, work, made, progress)
        elif item.registry == "maven":
            build_maven(item, work, made, progress)
        elif item.members:
            unpack(fetch(item, work, progress), item.members, made)
            if item.sources.is_dir():
                build_cpp(item, work, made, progress)
        else:
            build_npm(item, work, made, progress)
        if not (made / item.run).is_file():
            raise TestbedError(f"{item.name} was built without {item.run}")
        made.chmod(0o755)
        shutil.rmtree(item.folder, ignore_errors=True)
        made.rename(item.folder)


def lacking(items: Iterable[Item]) -> str:
    """Say which programs and libraries the machine lacks to install and run `items`, and how to
    install them; empty if none are missing."""
    missing: dict[str, str] = {}
    for item in items:
        programs = {**CLIENT_PROGRAMS[item.registry], **item.programs}
        missing |= {p: package for p, package in programs.items() if not shutil.which(p)}
        missing |= {so: package for so, package in item.libraries.items() if not _loads(so)}
    if not missing:
        return ""
    packages = " ".join(dict.fromkeys(missing.values()))
    return f"{', '.join(missing)} missing: apt-get install {packages}"


def _loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True
