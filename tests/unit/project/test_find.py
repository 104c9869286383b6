"""`scripts/find` passes over broken and old programs, whatever comes first on the PATH."""

import os
import subprocess
from pathlib import Path

import pytest

FIND = Path(__file__).parents[3] / "scripts" / "find"
NEW, OLD, NEWER_BY_NUMBER = "1.95.0", "1.80.1", "1.100.0"


@pytest.fixture
def find(tmp_path):
    """Runs `scripts/find` on folders of the test, which come first on the PATH."""

    def look(name: str, *folders: str) -> str:
        named = [str(tmp_path / folder) for folder in folders]
        env = {"PATH": os.pathsep.join([*named, "/usr/bin:/bin"]), "HOME": str(tmp_path)}
        done = subprocess.run([FIND, name], env=env, capture_output=True, text=True)
        return done.stdout.strip().removeprefix(f"{tmp_path}/")

    return look


@pytest.fixture
def program(tmp_path):
    def write(path: str, script: str) -> None:
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / path).chmod(0o755)

    return write


def rust(program, folder: str, version: str) -> None:
    program(f"{folder}/cargo", f"echo cargo {version}")
    program(f"{folder}/rustc", f"echo 'rustc {version} (a 2026-01-01)'")


@pytest.mark.parametrize("version", [NEW, NEWER_BY_NUMBER])
def test_rust_that_is_new_enough_is_used(find, program, version):
    rust(program, "first", version)
    assert find("cargo", "first") == "first/cargo"


def test_rust_that_is_too_old_is_passed_over(find, program):
    rust(program, "old", OLD)
    rust(program, "new", NEW)
    assert find("cargo", "old", "new") == "new/cargo"


def test_rustup_without_a_toolchain_is_passed_over(find, program):
    for name in ("cargo", "rustc"):
        program(f"rustup/{name}", "echo 'error: no default is configured' >&2; exit 1")
    rust(program, "new", NEW)
    assert find("cargo", "rustup", "new") == "new/cargo"


def test_a_cargo_that_fails_is_passed_over(find, program):
    rust(program, "broken", NEW)
    program("broken/cargo", "exit 127")
    rust(program, "new", NEW)
    assert find("cargo", "broken", "new") == "new/cargo"


def test_a_cargo_without_its_rustc_is_passed_over(find, program):
    program("alone/cargo", f"echo cargo {NEW}")
    rust(program, "new", NEW)
    assert find("cargo", "alone", "new") == "new/cargo"


def test_clippy_comes_with_the_cargo_beside_it(find, program):
    for folder, version in [("old", OLD), ("new", NEW)]:
        rust(program, folder, version)
        program(f"{folder}/cargo-clippy", "echo clippy")
    assert find("clippy", "old", "new") == "new/cargo-clippy"


def test_a_clippy_that_the_toolchain_lacks_is_passed_over(find, program):
    for folder in ("without", "with"):
        rust(program, folder, NEW)
        program(f"{folder}/cargo-clippy", "exit 1" if folder == "without" else "echo clippy")
    assert find("clippy", "without", "with") == "with/cargo-clippy"


def test_an_old_uv_is_passed_over(find, program):
    program("old/uv", "echo 'uv 0.4.30'")
    program("new/uv", "echo 'uv 0.11.2 (a 2026-01-01)'")
    assert find("uv", "old", "new") == "new/uv"


def test_a_python_without_venv_is_not_used(find, program):
    program("bare/python3", "exit 1")
    assert find("python3", "bare") != "bare/python3"
