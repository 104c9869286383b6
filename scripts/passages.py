"""Finds the English in a file: pages of Markdown; docstrings, comments, errors and names of tests.

Code within backticks is blanked, and every line keeps its number.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

Kind = Literal["page", "docstring", "comment", "error", "test name"]
SUFFIXES = (".md", ".py", ".rs")
_DIRECTIVE = re.compile(r"#!|# ?(?:noqa|type: ?ignore|mypy:|pragma:|fmt:|ruff:)")
_RUST = re.compile(
    r"""(?sx)
    (?P<comment> (?: //[^\n]* ) (?: \n[^\S\n]*//[^\n]* )* )
    | /\*.*?\*/
    | \bb?r(?P<hashes>\#*)" .*? "(?P=hashes)
    | b?"(?: \\. | [^"\\] )*"
    | '(?: \\[^']+ | [^'\\] )'
    | \#\[(?:tokio::)?test(?:\([^)]*\))?\] (?: \s*\#\[[^\]]*\] )*
      \s* (?:async\s+)? fn \s+ (?P<test>\w+)
    """
)


class Passage(NamedTuple):
    kind: Kind
    line: int
    """Number of its first line in the file, from 1."""
    text: str


def passages(file: Path) -> Iterator[Passage]:
    text = file.read_text()
    if file.suffix == ".py":
        found = [*_docstrings(text), *(_comments(text) if "#" in text else ())]
    elif file.suffix == ".rs":
        found = list(_rust(text))
    else:
        found = [Passage("page", 1, text)]
    for passage in found:
        yield passage._replace(text=without_code(passage.text))


def without_code(text: str) -> str:
    """Blank where code stands: fenced, indented or within backticks."""
    text = re.sub(r"(?ms)^```.*?^```", lambda m: "\n" * m[0].count("\n"), text)
    text = re.sub(r"(?m)^(?: {4}|\t).*$", "", text)
    return re.sub(r"(`+)(?!`)(?:(?!\n\n).)+?(?<!`)\1(?!`)", _code, text, flags=re.S)


def _code(match: re.Match[str]) -> str:
    """A word that no rule knows, as long as the code."""
    return re.sub(r"[^\n]", "_", match[0])


def _docstrings(text: str) -> Iterator[Passage]:
    """The docstrings of modules, classes, functions and attributes; errors and names of tests."""
    for node in ast.walk(ast.parse(text)):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            for statement in block if isinstance(block, list) else []:
                if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                    value = statement.value.value
                    if isinstance(value, str):
                        yield Passage("docstring", statement.lineno, _dedented(value, statement))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if node.name.startswith("test_"):
                yield _test(node.lineno, node.name)
        elif isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            for argument in node.exc.args:
                if said := "".join(_literals(argument)):
                    yield Passage("error", argument.lineno, said)


def _test(line: int, name: str) -> Passage:
    return Passage("test name", line, name.removeprefix("test_").replace("_", " "))


def _dedented(text: str, statement: ast.stmt) -> str:
    """The docstring without its statement's indentation, which would make code of it."""
    return text.replace("\n" + " " * statement.col_offset, "\n")


def _literals(node: ast.expr) -> Iterator[str]:
    """What an argument says, with a stand-in for each value it fills in."""
    match node:
        case ast.Constant(value=str(value)):
            yield value
        case ast.JoinedStr(values=values):
            for value in values:
                yield from _literals(value)
        case ast.FormattedValue():
            yield "_"
        case ast.BinOp(left=left, right=right):
            yield from _literals(left)
            yield from _literals(right)
        case ast.IfExp(body=body, orelse=orelse):
            yield from _literals(body)
            yield "\n\n"
            yield from _literals(orelse)


def _comments(text: str) -> Iterator[Passage]:
    """Each comment; lines of comments below each other are one."""
    first, lines, column = 0, list[str](), 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type != tokenize.COMMENT or _DIRECTIVE.match(token.string):
            continue
        row, at = token.start
        alone = not token.line[:at].strip()
        if lines and alone and row == first + len(lines) and at == column:
            lines.append(token.string.removeprefix("#").removeprefix(" "))
            continue
        if lines:
            yield Passage("comment", first, "\n".join(lines))
        first, column = row, at if alone else -1
        lines = [token.string.removeprefix("#").removeprefix(" ")]
    if lines:
        yield Passage("comment", first, "\n".join(lines))


def _rust(text: str) -> Iterator[Passage]:
    for match in _RUST.finditer(text):
        line = text.count("\n", 0, match.start("test" if match["test"] else 0)) + 1
        if match["test"]:
            yield _test(line, match["test"])
        for kind, number, lines in _runs((match["comment"] or "").splitlines()):
            yield Passage(kind, line + number, "\n".join(lines))


def _runs(lines: list[str]) -> Iterator[tuple[Kind, int, list[str]]]:
    """Lines of comments that begin alike, with the number of the first."""
    start = 0
    marks = [re.match(r"\s*(//[/!]?) ?", line) for line in lines]
    for end in range(1, len(lines) + 1):
        if end == len(lines) or marks[end][1] != marks[start][1]:
            kind: Kind = "comment" if marks[start][1] == "//" else "docstring"
            yield kind, start, [lines[i][marks[i].end() :] for i in range(start, end)]
            start = end
