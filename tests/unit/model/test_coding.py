"""What a server codes, by status, type and size."""

import pytest

from dragstrip.model.coding import LEAST_BYTES, Coding, compressible, parse_coding


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("gzip:1", Coding("gzip", 1)),
        ("gzip:9", Coding("gzip", 9)),
        ("br:0", Coding("br", 0)),
        ("br:11", Coding("br", 11)),
        ("zstd:19", Coding("zstd", 19)),
        ("identity", Coding("identity")),
    ],
)
def test_a_coding_has_the_levels_of_its_library(text, found):
    assert parse_coding(text) == found


@pytest.mark.parametrize(
    "text", ["gzip", "gzip:", "gzip:0", "gzip:10", "br:12", "zstd:20", "gzip:-1", "identity:1", "x"]
)
def test_any_other_is_refused_by_name(text):
    with pytest.raises(ValueError, match=f"'{text}'; choose from gzip:1 to gzip:9"):
        parse_coding(text)


@pytest.mark.parametrize(
    "mime",
    [
        *("text/html", "text/css", "text/javascript", "application/javascript"),
        *("application/json", "application/ld+json", "image/svg+xml", "application/xml"),
        *("application/wasm", "application/manifest+json", "font/ttf", "image/x-icon"),
    ],
)
def test_text_is_compressible(mime):
    assert compressible(mime)


@pytest.mark.parametrize("mime", ["image/png", "image/webp", "font/woff2", "video/mp4", ""])
def test_what_is_compressed_is_not(mime):
    assert not compressible(mime)


def test_only_answers_that_are_worth_it_are_coded():
    gzip, br = Coding("gzip", 6), Coding("br", 5)
    assert gzip.of(200, "text/css", LEAST_BYTES) == "gzip"
    assert gzip.of(404, "text/html", 9000) == "gzip"
    assert gzip.of(200, "text/css", LEAST_BYTES - 1) == ""
    assert gzip.of(206, "text/css", 9000) is None
    assert gzip.of(200, "image/png", 9000) is None
    assert gzip.of(200, "text/css", 9000, secure=False) == "gzip"
    assert br.of(200, "text/css", 9000, secure=False) == ""
    assert Coding("identity").of(200, "text/css", 9000) == ""
