"""Changes third-party sources by rules that refuse unexpected files.

A rules file is TOML with any number of

    [[rule]]
    why = "one sentence"
    file = "path/within/the/tree.go"
    sha256 = "of the whole file before its first rule"
    old = "text that stands there exactly once"
    new = "text that takes its place"
"""

import hashlib
from pathlib import Path

import msgspec
from msgspec import Struct

from dragstrip.testbed.errors import TestbedError


class Rule(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    why: str
    file: str
    sha256: str
    old: str
    new: str


class _Rules(Struct, frozen=True, forbid_unknown_fields=True):
    rule: tuple[Rule, ...]


def rewrite(rules: Path, tree: Path) -> None:
    """Apply every rule to the files below `tree`, or none of them.

    Raises `TestbedError` if a file is not the file that the rules were written for.
    """
    texts: dict[str, str] = {}
    for rule in msgspec.toml.decode(rules.read_bytes(), type=_Rules).rule:
        if rule.file not in texts:
            before = (tree / rule.file).read_bytes()
            if (found := hashlib.sha256(before).hexdigest()) != rule.sha256:
                raise TestbedError(
                    f"{rule.file} is not the file that {rules.name} was written for: its SHA-256 "
                    f"is {found}"
                )
            texts[rule.file] = before.decode()
        times = texts[rule.file].count(rule.old)
        if times != 1:
            raise TestbedError(
                f"{rules.name}: the text to replace in {rule.file} occurs {times} times"
            )
        texts[rule.file] = texts[rule.file].replace(rule.old, rule.new)
    for name, text in texts.items():
        (tree / name).write_text(text)
