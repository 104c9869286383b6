"""The answer on one page of A4, printed by the installed browser and read back."""

import re
from pathlib import Path

import pypdfium2
import pytest
import simulate
from msgspec import structs

from dragstrip.browsers import generations
from dragstrip.browsers.printing import pdf_of
from dragstrip.cli import main
from dragstrip.results.capsule import Capsule

A4_POINTS = (595, 842)


def capsule(folder: Path, pages: int, **how: object) -> Path:
    made = tuple(simulate.page(f"page{i}", 6, 1) for i in range(pages))
    of = structs.replace(simulate.study(pages=made, runs=5), **how)
    with Capsule.create(folder, simulate.manifest(of)) as opened:
        for visit in simulate.visits(of):
            opened.append(visit)
    return folder


def run(*words: str) -> int:
    """The exit code of the program."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", ["dragstrip", *words])
        with pytest.raises(SystemExit) as ended:
            main()
    return int(ended.value.code or 0)


def read(pdf: Path | bytes) -> list[str]:
    """The text of each page."""
    opened = pypdfium2.PdfDocument(pdf)
    size = opened[0].get_size()
    assert size == pytest.approx(A4_POINTS, abs=2)
    return [page.get_textpage().get_text_range() for page in opened]


@pytest.mark.parametrize("pages", [1, 3, 40])
def test_the_answer_its_conditions_and_its_limits_fit_one_page(tmp_path, pages):
    folder, pdf = capsule(tmp_path / "c", pages), tmp_path / "out" / "answer.pdf"
    run("report", str(folder), "--pdf", str(pdf))
    (text,) = read(pdf)
    text = " ".join(text.split())
    for part in ("simulated race", "Conditions", "What limits this answer", "round trip 74 ms"):
        assert part in text
    assert ("h3 loads page0 over LTE" in text) == (pages <= 3)
    assert ("20 more are in the report" in text) == (pages == 40)


def test_a_page_that_is_too_long_is_printed_smaller_and_loses_nothing():
    lines = "".join(f"<p>line {i}.</p>" for i in range(50))
    (text,) = read(pdf_of(f"<!doctype html><style>@page{{size:A4;margin:12mm}}</style>{lines}"))
    assert re.findall(r"line (\d+)\.", text) == [str(i) for i in range(50)]


def test_a_missing_browser_is_named_before_any_work(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(generations, "_BINARIES", ())
    assert run("report", str(tmp_path / "none"), "--pdf", str(tmp_path / "a.pdf")) == 3
    assert "chromium-headless-shell is missing: run `dragstrip setup`" in capsys.readouterr().err
    assert not (tmp_path / "a.pdf").exists()


def test_a_page_that_cannot_be_written_is_named(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert run("report", str(tmp_path), "--pdf", str(tmp_path / "file" / "a.pdf")) == 2
    assert "file" in capsys.readouterr().err
