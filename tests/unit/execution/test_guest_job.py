"""Files through which a guest and its owner exchange jobs and results."""

import os

import pytest

from dragstrip.execution.guest.job import hand_over, read, write


def test_what_was_written_is_read_and_appears_whole(tmp_path):
    write(tmp_path, "result-0", {"plt_ms": [1.5] * 10_000})
    assert read(tmp_path, "result-0") == {"plt_ms": [1.5] * 10_000}
    assert [file.name for file in tmp_path.iterdir()] == ["result-0"]


def test_a_file_that_cannot_be_handed_over_is_an_error(tmp_path):
    ends = os.pipe()
    try:
        with pytest.raises(OSError, match="cannot hand over"):
            hand_over(ends[1])
    finally:
        for end in ends:
            os.close(end)
