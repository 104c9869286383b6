"""Builds servers from Java libraries, which our small program uses.

Maven fetches only the pinned libraries. Each library is verified before it is used to compile or
run anything. Maven's own plugin, which copies the libraries, is verified only by the registry's
checksum.
"""

from collections.abc import Iterable
from pathlib import Path
from xml.sax.saxutils import escape

from dragstrip.model.servers import Server
from dragstrip.testbed.errors import TestbedError
from dragstrip.testbed.legacy.fetch import run
from dragstrip.testbed.servers.packages import UnpackedPackage
from dragstrip.testbed.servers.sources.source import (
    Teller,
    offer,
    pinned_package,
    pins_of,
    write_files,
)

REGISTRY = "Maven"
_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
_RELEASE = "17"


def fetch(server: Server, scratch: Path, home: Path, tell: Teller) -> list[UnpackedPackage]:
    pins = pins_of(server)
    tell.announce(offer(server, REGISTRY, len(pins.archives) - 1))
    sources = scratch / "sources"
    write_files(pins, sources)
    (sources / "pom.xml").write_text(pom(pins.archives))

    def tool(*command: str) -> None:
        progress = tell.progress(pins)
        run(command, cwd=sources, environment={}, watch=scratch, progress=progress)

    places = (f"-Dmaven.repo.local={scratch / 'repository'}", f"-DoutputDirectory={home}")
    tool("mvn", "--batch-mode", "--strict-checksums", *places, "-DexcludeTransitive=true", _COPY)
    packages = []
    for named, digest in pins.archives.items():
        name, version = named.split()
        _, artifact, *classifier = name.split(":")
        file = home / f"{'-'.join((artifact, version, *classifier))}.jar"
        packages.append(pinned_package(named, digest, file, REGISTRY, pins))
    if len(list(home.iterdir())) != len(packages):
        raise TestbedError(f"Maven left files that {server.name} does not pin")
    tell.status("compiling")
    java = [str(sources / name) for name in pins.files if name.endswith(".java")]
    tool("javac", "--release", _RELEASE, "-cp", f"{home}/*", "-d", str(home), *java)
    return packages


def pom(archives: Iterable[str]) -> str:
    """Write a Maven project (pom.xml) that depends on these archives, ``GROUP:ARTIFACT[:CLASSIFIER]
    VERSION`` each."""
    dependencies = "".join(_dependency(*named.split()) for named in archives)
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        "<groupId>server</groupId><artifactId>server</artifactId><version>1</version>"
        f"<dependencies>{dependencies}</dependencies></project>\n"
    )


def _dependency(name: str, version: str) -> str:
    group, artifact, *classifier = name.split(":")
    fields = {"groupId": group, "artifactId": artifact, "version": version}
    fields |= {"classifier": classifier[0]} if classifier else {}
    inner = "".join(f"<{key}>{escape(value)}</{key}>" for key, value in fields.items())
    return f"<dependency>{inner}</dependency>"
