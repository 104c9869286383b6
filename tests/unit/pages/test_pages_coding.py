"""Content codings: every body a server may send comes back as what it was."""

import gzip
import zlib

import brotli
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragstrip.pages.format import zstd
from dragstrip.pages.format.coding import CodingError, decode

ENCODERS = {
    "": bytes,
    "identity": bytes,
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstd.compress,
}


@given(body=st.binary(min_size=1), codings=st.lists(st.sampled_from([*ENCODERS]), max_size=3))
def test_codings_are_undone_last_first(body, codings):
    wire = body
    for coding in codings:
        wire = ENCODERS[coding](wire)
    assert decode(wire, ", ".join(codings)) == body


def test_deflate_without_the_zlib_wrapper_is_taken_too():
    compressor = zlib.compressobj(wbits=-15)
    assert decode(compressor.compress(b"abc" * 9) + compressor.flush(), "deflate") == b"abc" * 9


def test_a_cut_gzip_body_gives_what_it_still_holds():
    body = bytes(range(256)) * 40
    cut = decode(gzip.compress(body)[:-9], "gzip")
    assert cut
    assert body.startswith(cut)


@given(coding=st.sampled_from(["gzip", "deflate", "br", "zstd"]), body=st.binary(min_size=1))
def test_anything_else_is_a_coding_error(coding, body):
    try:
        found = decode(body, coding)
    except CodingError as error:
        found = str(error).encode()
    assert isinstance(found, bytes)


def test_an_unknown_coding_is_named():
    with pytest.raises(CodingError, match="'lzma'"):
        decode(b"x", "lzma")
