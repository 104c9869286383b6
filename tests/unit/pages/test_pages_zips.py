"""Zips whose members are damaged, whatever packs them."""

import zipfile

import pytest

from dragstrip.pages.format.recording import PageError
from dragstrip.pages.resolve import import_page

_MEMBERS = {"x.har.zip": "har.har", "y.wacz": "archive/data.warc"}
_METHODS = [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]


@pytest.mark.parametrize("method", _METHODS)
@pytest.mark.parametrize("name", _MEMBERS)
def test_a_damaged_member_is_one_line_that_names_the_file(tmp_path, name, method):
    path = tmp_path / name
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr(_MEMBERS[name], bytes(range(256)) * 40)
        info = archive.infolist()[0]
    packed = bytearray(path.read_bytes())
    begin = info.header_offset + 30 + len(info.filename)
    packed[begin + 9 : begin + info.compress_size] = b"\xff" * (info.compress_size - 9)
    path.write_bytes(packed)
    with pytest.raises(PageError) as caught:
        import_page(path, tmp_path / "out.har.zip")
    said = str(caught.value)
    assert said.startswith(str(path))
    assert "\n" not in said
