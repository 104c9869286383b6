"""A page becomes a folder of files, or it is said why it cannot."""

import pytest

from dragstrip.pages.format.archive import write_page
from dragstrip.pages.format.document_root import write_document_root
from dragstrip.pages.format.recording import PageError, Recorded, Recording

PAGE = "https://a.test/"


def page(tmp_path, *answers):
    first = Recorded(url=PAGE, wire=b"<p>")
    return write_page(
        tmp_path / "page.har.zip",
        Recording(name="page", url=PAGE, source="made", answers=(first, *answers)),
    )


def test_each_body_lies_at_its_path_below_its_host(tmp_path):
    other = Recorded(url="https://b.test/x/y%20z.png?v=1", wire=b"pixels")
    empty = Recorded(url="https://a.test/docs/", wire=b"")
    write_document_root(page(tmp_path, other, empty), tmp_path / "root")
    found = {
        str(p.relative_to(tmp_path / "root")): p.read_bytes()
        for p in (tmp_path / "root").rglob("*")
        if p.is_file()
    }
    assert found == {
        "a.test/index.html": b"<p>",
        "a.test/docs/index.html": b"",
        "b.test/x/y z.png": b"pixels",
    }


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (Recorded(url="https://a.test/gone", status=404), "files cannot answer GET .* with 404"),
        (Recorded(url="https://a.test/form", method="POST"), "files cannot answer POST"),
        (Recorded(url="https://a.test/?q=1", wire=b"another"), "would have two contents"),
        (Recorded(url="https://a.test/%2e%2e/up", wire=b"x"), "no path under"),
    ],
)
def test_what_files_cannot_be_is_said(tmp_path, answer, complaint):
    with pytest.raises(PageError, match=complaint):
        write_document_root(page(tmp_path, answer), tmp_path / "root")
