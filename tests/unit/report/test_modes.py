"""The answer's sentences on metrics whose loads fall into two groups."""

from pathlib import Path

import made
import made_capsule
from dragstrip.report.data.answer import answer
from dragstrip.report.data.cells import cells

ONE_MODE = [900.0, 905.0, 910.0, 915.0, 920.0, 925.0, 930.0, 935.0, 940.0, 945.0]
TWO_MODES = [1200.0] * 7 + [2840.0] * 3


def believed(tmp_path: Path, times: dict[str, list[float]]) -> str:
    of = made_capsule.study()
    visits = made_capsule.capsule(tmp_path / "c", times, of=of).visits()
    (cell,) = cells(of, made.table(of, list(visits)))
    return answer(cell, 60).believe


def test_the_answer_names_both_modes_and_their_loads(tmp_path):
    said = believed(tmp_path, {"h2": TWO_MODES, "h3": ONE_MODE})
    assert "Page load has two modes: 1.200 s in 7 loads and 2.840 s in 3 loads over h2." in said
    assert "can jump" in said


def test_the_answer_does_not_report_one_mode(tmp_path):
    assert "modes" not in believed(tmp_path, {"h2": ONE_MODE, "h3": ONE_MODE})
