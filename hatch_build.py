"""Builds the Rust programs and puts them into the wheel (docs/decisions/0037-packages.md).

An editable install skips this: there the programs come from `make build`.
With `cargo-zigbuild` on the path (`scripts/release`) they are linked against an old glibc.
`CARGO_BUILD_TARGET`, cargo's own variable, makes a wheel for another machine.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import sys_tags

PROGRAMS = ("dragstrip-link", "dragstrip-origin", "dragstrip-loader", "dragstrip-resolver")
OLDEST = "2.28"
"""The glibc that zig links against: that of Debian 10 and RHEL 8."""


class CargoHook(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        triple = os.environ.get("CARGO_BUILD_TARGET") or _host(Path(self.root))
        folder = _build(Path(self.root), triple)
        programs = [folder / name for name in PROGRAMS]
        build_data["pure_python"] = False
        # The programs need a platform, but no particular Python.
        build_data["tag"] = f"py3-none-{_platform(programs, triple)}"
        build_data["force_include"] = {str(p): f"dragstrip/_bin/{p.name}" for p in programs}


def _build(root: Path, triple: str) -> Path:
    """The folder of the programs, built for the machine that `triple` names."""
    own = str(root / "scripts" / "cargo")
    cargo, target, more = [own, "build"], root / "target", {}
    zig = shutil.which("cargo-zigbuild")
    if zig:
        cargo = [own, "zigbuild", "--target", f"{triple}.{OLDEST}"]
        more = {"CARGO_PROFILE_RELEASE_STRIP": "symbols"}
    if zig or "CARGO_BUILD_TARGET" in os.environ:
        target /= triple
    argv, env = [*cargo, "--release", "--locked"], {**os.environ, **more}
    subprocess.run(argv, cwd=root, env=env, check=True)
    return target / "release"


def _host(root: Path) -> str:
    cargo = [root / "scripts" / "cargo", "-vV"]
    said = subprocess.run(cargo, capture_output=True, text=True, check=True).stdout
    return re.search(r"^host: (\S+)$", said, re.MULTILINE)[1]  # type: ignore[index]


def _platform(programs: list[Path], triple: str) -> str:
    """`manylinux_2_28_x86_64` for programs whose newest symbol is glibc 2.28's.

    Read from the programs, so the tag is true whatever linked them.
    """
    machine = triple.partition("-")[0]
    if machine not in ("x86_64", "aarch64"):
        return next(sys_tags()).platform
    asked = {
        tuple(map(int, version))
        for program in programs
        for version in re.findall(rb"GLIBC_(\d+)\.(\d+)", program.read_bytes())
    }
    major, minor = max(asked | {(2, 17)})
    return f"manylinux_{major}_{minor}_{machine}"
