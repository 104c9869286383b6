"""The rules that answer a paper's claims, as one digest.

It is kept when a campaign starts, and stands on every page of answers: whoever reads one sees
whether the rules were there before the data.
"""

import ast
import hashlib
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import resources, util
from pathlib import Path

import msgspec

from dragstrip.model.thresholds import DEFAULTS
from dragstrip.verdict.rules import VERSION

_ROOTS = ("dragstrip.papers.predicates", "dragstrip.papers.evidence")
_RULES = ("dragstrip.papers.", "dragstrip.stats.")
"""What an answer is computed by. The verdict's own rules have a version."""
_DIGITS = 12


class Frozen(msgspec.Struct, frozen=True, kw_only=True):
    """The rules of a page of answers."""

    now: str
    """Digest of the rules that the answers follow."""
    then: tuple[str, ...]
    """Of those that stood when visits began, each once; empty for a start that kept none."""

    def words(self) -> str:
        """One sentence; empty without a visit."""
        if not self.then:
            return ""
        older = [digest or "not kept" for digest in self.then if digest != self.now]
        if not older:
            return f"The rules that answer ({self.now}) stood before the first visit."
        return (
            f"The rules that answer ({self.now}) are not those of the day on which visits began "
            f"({', '.join(older)}): CHANGELOG.md says what changed."
        )


@cache
def rules_digest(paper: str) -> str:
    """First 12 hex digits of SHA-256 over a paper's claims, the code of the predicates without its
    comments and layout, the default limits and the version of the verdict's rules."""
    claims = resources.files("dragstrip.papers").joinpath(paper, "claims.toml").read_bytes()
    parts = [claims, msgspec.json.encode(DEFAULTS, order="sorted"), str(VERSION).encode()]
    parts += [_code(name).encode() for name in sorted(_closure(_ROOTS))]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:_DIGITS]


def _closure(roots: Iterable[str]) -> set[str]:
    """These modules and all rules that they import."""
    found: set[str] = set()
    left = list(roots)
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left += [n for n in _imports(_tree(name)) if n.startswith(_RULES)]
    return found


def _imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            whole = f"{node.module}." in _RULES
            yield from [f"{node.module}.{a.name}" for a in node.names] if whole else [node.module]


def _tree(name: str) -> ast.Module:
    spec = util.find_spec(name)
    assert spec
    assert spec.origin
    return ast.parse(Path(spec.origin).read_text(encoding="utf-8"))


def _code(name: str) -> str:
    tree = _tree(name)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [n for n in body if not _is_text(n)]  # type: ignore[attr-defined]
    return f"{name} {ast.dump(tree)}"


def _is_text(node: ast.stmt) -> bool:
    """A docstring, or what documents a field."""
    value = node.value if isinstance(node, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)
