"""Synthetic pages: exact sizes, real images, and one clear sentence for what cannot be made."""

import io
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from dragstrip.pages.format.archive import write_page
from dragstrip.pages.format.recording import PageError
from dragstrip.pages.generators.synth import MIN_OBJECT_BYTES, noise_png, synth

# Around a stored block's end, one more byte can mean one more block or a padding chunk.
SIZES = st.integers(MIN_OBJECT_BYTES, 3_000) | st.integers(65_000, 66_000)


@given(size=SIZES | st.integers(3_000, 400_000), seed=st.text(max_size=5))
def test_every_size_is_met_to_the_byte_by_a_picture_that_decodes(size, seed):
    png = noise_png(size, seed)
    assert len(png) == size
    with Image.open(io.BytesIO(png)) as image:
        image.load()  # verifies the checksums
        assert image.format == "PNG"


def test_the_pixels_make_up_the_object_and_do_not_compress():
    png = noise_png(100_000, "x")
    with Image.open(io.BytesIO(png)) as image:
        assert image.width * image.height > 98_000
    assert len(zlib.compress(png, 9)) > 99_000


@pytest.mark.parametrize(("spec", "count", "size"), [("64x10KB", 64, 10_000), ("2x100B", 2, 100)])
def test_a_page_is_a_document_and_its_objects(tmp_path, spec, count, size):
    page = write_page(tmp_path / "s.har.zip", synth(spec))
    assert page.name == f"synth-{spec}"
    document, *objects = page.resources
    assert (document.url, document.mime) == (page.url, "text/html")
    assert [(r.mime, r.body_bytes) for r in objects] == [("image/png", size)] * count
    html = synth(spec).answers[0].wire.decode()
    assert all(f'src="{r.url}"' in html for r in objects)


def test_objects_are_dealt_to_hosts_in_turn(tmp_path):
    page = write_page(tmp_path / "s.har.zip", synth("10x1KB", hosts=4))
    assert page.hosts == ("www.synth.test", "s2.synth.test", "s3.synth.test", "s4.synth.test")
    counts = [sum(r.host == h for r in page.resources[1:]) for h in page.hosts]
    assert counts == [3, 3, 2, 2]
    assert page.name == "synth-10x1KB-4hosts"


def test_the_seed_decides_the_bytes(tmp_path):
    digests = [
        write_page(tmp_path / "s.har.zip", synth("4x5KB", seed=seed)).digest for seed in (1, 1, 2)
    ]
    assert digests[0] == digests[1] != digests[2]


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        ("1x0", "smallest object"),
        ("0x10KB", "between 1 and"),
        ("10001x1KB", "between 1 and"),
        ("1000x10MB", "at most 1000 MB"),
        ("64", "count x size, like synth:64x10KB"),
        ("64x", "count x size"),
        ("-1x10KB", "count x size"),
        ("64x10KB\n", "count x size"),
        ("64x10parsec", "not a size"),
        ("2x1.2.3KB", "not a size"),
    ],
)
def test_what_cannot_be_made_is_said(spec, complaint):
    with pytest.raises(PageError, match=complaint):
        synth(spec)


def test_more_hosts_than_objects_are_refused():
    with pytest.raises(PageError, match="between 1 and 2 hosts"):
        synth("2x1KB", hosts=3)


def test_a_late_urgent_object_is_asked_for_by_a_timer(tmp_path):
    page = write_page(tmp_path / "s.har.zip", synth("60x1KB+1x10KB:urgent"))
    (urgent,) = (r for r in page.resources if r.url.endswith("/urgent.css"))
    assert (urgent.mime, urgent.body_bytes, len(page.resources)) == ("text/css", 10_000, 62)
    html = synth("60x1KB+1x10KB:urgent").answers[0].wire.decode()
    assert "}, 200));" in html
    assert urgent.url in html


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("60x1KB+2x10KB:urgent", "give one urgent object of one size"),
        ("60x1KB+1x1KB-2KB:urgent", "give one urgent object of one size"),
        ("60x1KB:script+1x10KB:urgent", "before the urgent object come images"),
        ("+1x10KB:urgent", "before the urgent object come images"),
        ("1x10KB:urgent", "objects are image"),
    ],
)
def test_an_urgent_object_that_cannot_be_made_says_why(spec, said):
    with pytest.raises(PageError, match=said):
        synth(spec)
