"""Builds the three Rust programs and puts them into the wheel (docs/decisions/0037-packages.md).

An editable install skips this: there the programs come from `cargo build --release`.
With `cargo-zigbuild` on the path (`scripts/release`) they are linked against an old glibc.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import sys_tags

PROGRAMS = ("dragstrip-link", "dragstrip-origin", "dragstrip-loader")
OLDEST = "2.28"
"""The glibc that zig links against: that of Debian 10 and RHEL 8."""


class CargoHook(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        programs = [folder / name for folder in [_build(Path(self.root))] for name in PROGRAMS]
        build_data["pure_python"] = False
        # The programs need a platform, but no particular Python.
        build_data["tag"] = f"py3-none-{_platform(programs)}"
        build_data["force_include"] = {str(p): f"dragstrip/_bin/{p.name}" for p in programs}


def _build(root: Path) -> Path:
    """The folder of the built programs."""
    cargo, target, more = ["cargo", "build"], root / "target", {}
    host = _host()
    if shutil.which("cargo-zigbuild"):
        cargo = ["cargo", "zigbuild", "--target", f"{host}.{OLDEST}"]
        target /= host
        more = {"CARGO_PROFILE_RELEASE_STRIP": "symbols"}
    argv, env = [*cargo, "--release", "--locked"], {**os.environ, **more}
    subprocess.run(argv, cwd=root, env=env, check=True)
    return target / "release"


def _host() -> str:
    said = subprocess.run(["rustc", "-vV"], capture_output=True, text=True, check=True).stdout
    return re.search(r"^host: (\S+)$", said, re.MULTILINE)[1]  # type: ignore[index]


def _platform(programs: list[Path]) -> str:
    """`manylinux_2_28_x86_64` for programs whose newest symbol is glibc 2.28's.

    Read from the programs, so the tag is true whatever linked them.
    """
    platform = next(sys_tags()).platform
    machine = platform.removeprefix("linux_")
    if machine not in ("x86_64", "aarch64"):
        return platform
    asked = {
        tuple(map(int, version))
        for program in programs
        for version in re.findall(rb"GLIBC_(\d+)\.(\d+)", program.read_bytes())
    }
    major, minor = max(asked | {(2, 17)})
    return f"manylinux_{major}_{minor}_{machine}"
