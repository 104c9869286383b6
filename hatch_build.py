"""Builds the three Rust programs and puts them into the wheel (see docs/decisions/0001-shape.md).

An editable install skips this: there the programs come from `cargo build --release`.
"""

import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import sys_tags

PROGRAMS = ("dragstrip-link", "dragstrip-origin", "dragstrip-loader")


class CargoHook(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        subprocess.run(["cargo", "build", "--release", "--locked"], cwd=self.root, check=True)
        target = Path(self.root) / "target" / "release"
        build_data["pure_python"] = False
        # The programs need a platform, but no particular Python.
        build_data["tag"] = f"py3-none-{next(sys_tags()).platform}"
        build_data["force_include"] = {
            str(target / program): f"dragstrip/_bin/{program}" for program in PROGRAMS
        }
