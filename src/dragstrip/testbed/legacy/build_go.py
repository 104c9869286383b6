"""Builds our Go program with the modules in its go.sum.

`go` checks every module against go.sum. Modules are vendored so that they can be changed: each
`NAME.toml` next to the sources has the rules (see `rewrite`) for the vendored module whose path
ends with NAME.
"""

import shutil
from pathlib import Path

from dragstrip.testbed.errors import TestbedError
from dragstrip.testbed.legacy.catalogue import Item
from dragstrip.testbed.legacy.fetch import Progress, run
from dragstrip.testbed.legacy.rewrite import rewrite


def build_go(item: Item, scratch: Path, target: Path, progress: Progress) -> None:
    """Build `item` below the empty folder `scratch` into `target`. Raises `TestbedError`."""
    sources = scratch / "sources"
    shutil.copytree(item.sources, sources)
    environment = {
        "GOMODCACHE": str(scratch / "modules"),
        "GOFLAGS": "-modcacherw",
        "GOWORK": "off",
        "CGO_ENABLED": "0",
    }

    def go(*arguments: str) -> None:
        run(
            ["go", *arguments],
            cwd=sources,
            environment=environment,
            watch=scratch,
            progress=progress,
        )

    go("mod", "vendor")
    for rules in sources.glob("*.toml"):
        rewrite(rules, _vendored(sources / "vendor", rules.stem))
    target.mkdir()
    go("build", "-mod=vendor", "-trimpath", "-o", str(target / item.run), ".")


def _vendored(vendor: Path, name: str) -> Path:
    found = [path for path in vendor.glob("*/*/*") if path.name == name]
    if len(found) != 1:
        raise TestbedError(f"{len(found)} vendored modules are called {name}, expected one")
    return found[0]
