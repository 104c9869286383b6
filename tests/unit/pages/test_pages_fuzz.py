"""Damaged recordings of every kind: a page, or one line that says what is wrong."""

import gzip

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragstrip.pages.format import zstd
from dragstrip.pages.format.archive import load_page, write_page
from dragstrip.pages.format.recording import PageError
from dragstrip.pages.importers.kinds import read_recording
from dragstrip.pages.importers.limits import Limits
from dragstrip.pages.importers.wish import Wish
from made_archives import kinds, place

KINDS = {name: files for name, files in kinds().items() if "#" not in name}
WISH = Wish(limits=Limits(max_bytes=2_000_000, max_records=500, max_name=2_000))
SPICE = (
    b"",
    b"\0",
    b"\r\n\r\n",
    b"WARC/1.0\r\n",
    b"-1",
    b"9" * 20,
    b'"',
    b"<",
    b"\xff\xfe",
    b"%00",
    b"cid:",
)


@st.composite
def damaged(draw: st.DrawFn, data: bytes) -> bytes:
    """The data with some parts overwritten, removed or repeated, and perhaps truncated."""
    made = bytearray(data)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(len(made) - 1, 0)))
        to = at + draw(st.integers(0, 40))
        what = draw(st.sampled_from(["cut", "spice", "repeat", "byte"]))
        if what == "cut":
            del made[at:to]
        elif what == "spice":
            made[at:to] = draw(st.sampled_from(SPICE))
        elif what == "repeat":
            made[at:at] = made[at:to] * draw(st.integers(1, 30))
        else:
            made[at : at + 1] = bytes([draw(st.integers(0, 255))])
    return bytes(made[: draw(st.integers(0, len(made)))] if draw(st.booleans()) else made)


def inside(name: str, data: bytes, change) -> bytes:
    """Return `data` changed before packing, if its name says that it is packed."""
    if name.endswith(".gz"):
        return gzip.compress(change(gzip.decompress(data)), 1, mtime=0)
    if name.endswith(".zst"):
        return zstd.compress(change(b"WARC/1.0\r\n" + data))
    return change(data)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=25)
@given(data=st.data())
def test_any_damage_is_a_page_or_one_line(tmp_path_factory, kind, data):
    folder = tmp_path_factory.mktemp("fuzz")
    files = dict(KINDS[kind])
    name = data.draw(st.sampled_from(sorted(files)))

    def change(text: bytes) -> bytes:
        return data.draw(damaged(text))

    packed = data.draw(st.booleans())
    files[name] = change(files[name]) if packed else inside(name, files[name], change)
    place(folder, files)
    try:
        page = write_page(folder / "out.har.zip", read_recording(folder / kind, WISH))
    except PageError as error:
        said = str(error)
    else:
        said = ""
        assert load_page(folder / "out.har.zip") == page
    assert "\n" not in said
    assert not said or str(folder) in said


HEAD = b"WARC/1.0\r\n"
NESTED = (
    b"Content-Type: multipart/x; boundary=b%d\r\n\r\n--b%d\r\n" % (i, i) for i in range(3_000)
)
HOSTILE = [
    ("x.warc.gz", gzip.compress(b" " * 30_000_000)),
    ("x.warc.gz", gzip.compress(HEAD + b" " * 30_000_000)),
    ("x.warc.gz", gzip.compress(HEAD + b"a: b\r\n" * 500_000)),
    ("x.warc.gz", gzip.compress(HEAD + b"Content-Length: 0\r\n\r\n" + b"\r\n" * 9_000_000)),
    ("x.warc.gz", gzip.compress(HEAD + b"Content-Length: 99999999999\r\n\r\n" + bytes(10**8))),
    ("x.warc.gz", gzip.compress((HEAD + b"Content-Length: 0\r\n\r\n\r\n") * 200_000)),
    ("x.arc", b"filedesc://x 0.0.0.0 1 text/plain 9\n" + b" " * 9_000_000),
    ("x.warc.zst", b"\x5d\x2a\x4d\x18\xff\xff\xff\x7f"),
    ("x.warc.zst", b"\x5d\x2a\x4d\x18\x08\0\0\0\x37\xa4\x30\xecjunk" + zstd.compress(b"x")),
    ("x.mhtml", b"Content-Type: multipart/related; boundary=b\r\n\r\n" + b"--b\r\n" * 200_000),
    ("x.mhtml", b"".join(NESTED)),
    ("x.mhtml", b"Content-Type: text/html" + b";" * 1_000_000 + b"\r\n\r\n<p>"),
    ("x.warc", HEAD + b"WARC-Type: response\r\nContent-Length: 9999999999\r\n\r\nHTTP/1.1 200"),
    ("x.mitm", b"99999999999:"),
    ("x.mitm", b"1:" * 500_000),
    ("x.html", b"no markup"),
]


@pytest.mark.parametrize(("name", "data"), HOSTILE)
def test_what_is_made_to_take_memory_or_time_ends_in_one_line(tmp_path, name, data):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(PageError) as refused:
        read_recording(tmp_path / name)
    assert name in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "text", ["<a ", "<!--", "<img src='", "</a", "&#", "<style>url(", "<script>", '<p style="url(']
)
def test_markup_that_never_ends_is_read_in_time(tmp_path, text):
    (tmp_path / "x.html").write_text("<p>" + text * 200_000)
    assert read_recording(tmp_path / "x.html").url == "https://saved.test/"
