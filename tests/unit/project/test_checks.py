"""The programs of `make check` find planted faults: a wrong link, a typo, a word that we do not
write."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
BIN = Path(sys.executable).parent


def run(*argv: str, cwd: Path = ROOT) -> tuple[int, str]:
    env = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(argv, cwd=cwd, env=env, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_a_typo_is_found(tmp_path):
    (tmp_path / "a.md").write_text("We rec" + "ieve it.\n")
    code, said = run(str(BIN / "codespell"), "--toml", str(ROOT / "pyproject.toml"), str(tmp_path))
    assert code != 0
    assert "==> receive" in said


def test_a_word_that_we_do_not_write_is_found_and_code_is_left_alone(tmp_path):
    page = tmp_path / "a.md"
    page.write_text("`whoever` is code.\n\n    whoever\n")
    assert run(sys.executable, "scripts/prose", str(page)) == (0, "")
    page.write_text("Whoever reads this.\n")
    code, said = run(sys.executable, "scripts/prose", str(page))
    assert code == 1
    assert f"{page}:1: 'Whoever': write name who" in said


def test_a_broken_link_is_found(tmp_path):
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    text = (tmp_path / "mkdocs.yml").read_text()
    (tmp_path / "mkdocs.yml").write_text(text.partition("not_in_nav:")[0])
    (tmp_path / "docs").mkdir()
    for name in ("index.md", "site.css"):
        (tmp_path / "docs" / name).write_text("")
    assert run(str(BIN / "mkdocs"), "build", "-f", str(tmp_path / "mkdocs.yml"))[0] == 0
    (tmp_path / "docs" / "index.md").write_text("[away](nowhere.md) [down](#nowhere)\n")
    code, said = run(str(BIN / "mkdocs"), "build", "-f", str(tmp_path / "mkdocs.yml"))
    assert code == 1
    assert "nowhere.md" in said
