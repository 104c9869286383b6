"""Builds our Java program with the libraries in its jars.sha256.

Maven fetches the versions that pom.xml names, but does not check our hashes. So we check every
library before anything is compiled or run with it.
"""

import hashlib
import shutil
from pathlib import Path

from dragstrip.testbed.errors import TestbedError
from dragstrip.testbed.legacy.catalogue import Item
from dragstrip.testbed.legacy.fetch import Progress, run

_RELEASE = "17"
"""Release of Java. Unix sockets need at least 16."""
_COPY = "org.apache.maven.plugins:maven-dependency-plugin:copy-dependencies"


def build_maven(item: Item, scratch: Path, target: Path, progress: Progress) -> None:
    """Compile `item` into `target`, together with its libraries. Raises `TestbedError`."""
    sources = scratch / "sources"
    shutil.copytree(item.sources, sources)
    target.mkdir()

    def tool(*command: str) -> None:
        run(command, cwd=sources, environment={}, watch=scratch, progress=progress)

    places = (f"-Dmaven.repo.local={scratch / 'repository'}", f"-DoutputDirectory={target}")
    tool("mvn", "--batch-mode", "--strict-checksums", *places, _COPY)
    _check(sources / "jars.sha256", target)
    java = map(str, sorted(sources.glob("*.java")))
    tool("javac", "--release", _RELEASE, "-cp", f"{target}/*", "-d", str(target), *java)
    for options in sources.glob("*.options"):
        shutil.copy(options, target)


def known_jars(listed: Path) -> dict[str, str]:
    """Read the SHA-256 of each file, by name, from a file in the format of `sha256sum`."""
    pairs = (line.split() for line in listed.read_text().splitlines())
    return {name: digest for digest, name in pairs}


def _check(listed: Path, folder: Path) -> None:
    found = {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in folder.glob("*.jar")}
    known = known_jars(listed)
    wrong = sorted(n for n in {**found, **known} if found.get(n) != known.get(n))
    if wrong:
        raise TestbedError(
            f"{', '.join(wrong)} is not what {listed.name} lists; nothing was installed"
        )
