"""`dragstrip page` says little, writes what is asked, and only what can be read again."""

import pytest
from typer.testing import CliRunner

from dragstrip.cli import app
from dragstrip.model.errors import InputError
from dragstrip.pages.format.archive import load_page


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def invoke(*argv):
    return CliRunner().invoke(app, ["page", *argv], standalone_mode=False)


def test_a_page_is_shown_in_three_lines_and_all_of_it_on_request(here):
    short = invoke("synth", "3x1KB")
    assert len(short.output.splitlines()) == 3
    long = invoke("synth", "3x1KB", "--verbose")
    assert long.output.startswith(short.output)
    assert "host" in long.output.removeprefix(short.output)


@pytest.mark.parametrize("name", ["x.har.zst", "x.har", "x.zip", "x", "x.html"])
def test_a_page_is_not_written_where_it_cannot_be_read_again(here, name):
    found = invoke("synth", "3x1KB", "-o", name)
    assert isinstance(found.exception, InputError)
    assert "write x.har.zip" in str(found.exception)
    assert list(here.iterdir()) == []


def test_a_page_is_read_again_from_where_it_was_written(here):
    assert invoke("synth", "3x1KB", "-o", "x.har.zip").exception is None
    assert len(load_page(here / "x.har.zip").resources) == 4


def test_showing_a_page_writes_no_file_unless_asked(here):
    assert invoke("show", "synth:3x1KB").exception is None
    assert list(here.glob("*.html")) == []
    assert invoke("show", "synth:3x1KB", "-o", "it.html").exception is None
    assert "<html" in (here / "it.html").read_text()
