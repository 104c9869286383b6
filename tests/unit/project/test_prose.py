"""`scripts/prose` reads the English inside the code, and nothing that is code."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


def prose(*paths: Path) -> tuple[int, str]:
    argv = [sys.executable, "scripts/prose", *map(str, paths)]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def file(tmp_path):
    def written(name: str, text: str) -> Path:
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return written


@pytest.mark.parametrize(
    ("text", "line", "found"),
    [
        ('"""Fixes what\nso many reports say."""\n', 2, "so many"),
        ('"""A page."""\nx = 1\n"""It is the number of pages."""\n', 3, "It"),
        ('class A:\n    x: int\n    """Of its pages."""\n', 3, "Of"),
        ("x = 1  # whoever reads this\n", 1, "whoever"),
        ("# goes on where\n# it stopped, that is\nx = 1\n", 1, "goes on where it stopped"),
        ('raise ValueError(f"{1} is not to be had")\n', 1, "is not to be had"),
        ("def test_nobody_knows_it():\n    assert 1\n", 1, "nobody knows"),
    ],
)
def test_the_line_of_a_finding_in_python(file, text, line, found):
    path = file("a.py", text)
    code, said = prose(path)
    assert code == 1
    assert f"{path}:{line}: {found!r}: write " in said


@pytest.mark.parametrize(
    ("text", "line", "found"),
    [
        ("//! A page.\n\n/// Of its length.\nconst A: u32 = 1;\n", 3, "Of"),
        ("fn a() {\n    b(); // whoever reads this\n}\n", 2, "whoever"),
        ("/// A page\n/// that nobody\n/// has.\nstruct A;\n", 2, "nobody"),
        ("#[test]\nfn whoever_asks_gets_it() {}\n", 2, "whoever"),
    ],
)
def test_the_line_of_a_finding_in_rust(file, text, line, found):
    path = file("a.rs", text)
    code, said = prose(path)
    assert code == 1
    assert f"{path}:{line}: {found!r}: write " in said


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.py", 'x = "whoever"\nnobody = f"{x} of its own"\n'),
        ("a.py", '"""Prints ``whoever`` and `nobody`.\n\n    whoever = 1\n"""\n'),
        ("a.py", "x = 1  # noqa: whoever\n"),
        ("a.rs", 'fn a() {\n    let nobody = "// whoever";\n    let b = r#"// "whoever""#;\n}\n'),
        ("a.rs", "fn a<'x>(b: &'x str) -> char {\n    '\"' // a quote\n}\n"),
    ],
)
def test_code_is_left_alone(file, name, text):
    assert prose(file(name, text)) == (0, "")


def test_a_long_sentence_is_found(file):
    path = file("a.py", f'"""Pages.\n\nCounts {"one page, " * 30}and another."""\n')
    code, said = prose(path)
    assert code == 1
    assert f"{path}:3: 'Counts one page, one page,'...: " in said


def test_a_folder_is_read_whole(file):
    path = file("a.py", "# whoever\n")
    file("b.txt", "whoever\n")
    assert prose(path.parent)[1].count("whoever") == 1
