"""Every setting of the libraries and of the kernel is a field of a stack, or stands in a list with
the reason: docs/reference/settings.toml."""

import os
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from dragstrip.model.stack import Stack

ROOT = Path(__file__).parents[3]
PARTS = tomllib.loads((ROOT / "docs/reference/settings.toml").read_text())["part"]
CRATES = [part for part in PARTS if "crate" in part]
(CONSTANTS,) = (part for part in PARTS if "constants" in part)
(SYSCTLS,) = (part for part in PARTS if "sysctls" in part)
FIELDS = {field.name for field in structs.fields(Stack)}
_NUMBER = re.compile(r"^(?:pub(?:\([a-z]+\))? )?const ([A-Z_0-9]+): (?!\[?&|HeaderName\b)", re.M)
Part = dict[str, Any]


def source(crate: str, file: str) -> str:
    """A file of a crate, in the version of Cargo.lock."""
    locked = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    version = max((p["version"] for p in locked if p["name"] == crate), default="")
    home = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    found = list(home.glob(f"registry/src/*/{crate}-{version}/{file}"))
    if not found:
        pytest.skip("the sources of the Rust libraries are not here")
    return found[0].read_text()


def settings(text: str, of: str) -> set[str]:
    """The settings of a structure: its public fields, and its methods that change it."""
    found: set[str] = set()
    for block in re.findall(rf"^(?:pub struct|impl) {of}\b[^{{]*\{{\n(.*?)^\}}", text, re.M | re.S):
        found |= set(re.findall(r"^    pub (\w+): ", block, re.M))
        found |= set(re.findall(r"^    pub fn (\w+)(?:<.*>)?\(\s*&mut self", block, re.M))
    return found


def numbers(folder: Path) -> set[str]:
    """`FILE NAME` of every constant of our programs that is no text."""
    found = set()
    files = (p for p in folder.glob("*/src/**/*.rs") if not p.stem.endswith("_tests"))
    for path in files:
        for name in _NUMBER.findall(path.read_text()):
            found.add(f"{path.relative_to(folder)} {name}")
    return found


def listed(part: Part) -> set[str]:
    return set(part["fields"]) | set(part["reasons"])


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part["name"])
def test_each_names_a_field_or_a_reason(part):
    assert set(part["fields"].values()) <= FIELDS
    assert all(reason.endswith(".") for reason in part["reasons"].values())
    assert not set(part["fields"]) & set(part["reasons"])


@pytest.mark.parametrize("part", CRATES, ids=lambda part: part["name"])
def test_every_setting_of_a_library_is_listed(part):
    assert settings(source(part["crate"], part["file"]), part["of"]) == listed(part)


def test_every_number_of_the_origin_is_listed():
    """A file that holds only numbers of a protocol needs one comment for all of them."""
    found = {n for n in numbers(ROOT / "crates") if n.startswith(("origin/", "http3/"))}
    files = {entry for entry in listed(CONSTANTS) if " " not in entry}
    single = {number for number in found if number.split()[0] not in files}
    assert single == listed(CONSTANTS) - files
    assert files <= {number.split()[0] for number in found}


def test_every_setting_of_the_kernels_tcp_is_listed():
    """The list may name settings that this kernel lacks."""
    found = {path.name for path in Path("/proc/sys/net/ipv4").glob(SYSCTLS["sysctls"] + "*")}
    assert found
    assert found <= listed(SYSCTLS)


def test_a_setting_that_a_library_brings_is_found():
    text = """
pub struct Builder {
    /// One.
    pub first: u8,
    hidden: u8,
}

impl Builder {
    pub fn new() -> Self {
        pub fn inner(&mut self) {}
    }

    pub fn second<F: Fn() -> u8>(
        &mut self,
        value: F,
    ) -> &mut Self {
    }

    pub fn build(&self) {
    }
}

impl Other {
    pub fn third(&mut self) {
    }
}
"""
    assert settings(text, "Builder") == {"first", "second"}
