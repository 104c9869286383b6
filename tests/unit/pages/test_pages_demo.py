"""The demo page: realistic in shape, complete in itself, and always the same."""

import io
import re
import subprocess
import sys
from pathlib import Path

import pytest
from fontTools.ttLib import TTFont
from PIL import Image

from dragstrip.pages.demo import demo
from dragstrip.pages.format.archive import write_page
from dragstrip.pages.format.recording import Recording

HOSTS = ("www.demo.test", "static.demo.test", "fonts.demo.test", "img.demo.test")


@pytest.fixture(scope="module")
def recording() -> Recording:
    return demo()


def _text(recording: Recording) -> str:
    kinds = ("text/", "application/json")
    return "\n".join(a.body.decode() for a in recording.answers if a.mime.startswith(kinds))


def test_it_has_the_size_of_a_real_page(recording, tmp_path):
    page = write_page(tmp_path / "demo.har.zip", recording)
    assert page.hosts == HOSTS
    assert len(page.resources) == 60
    assert 1_400_000 < page.body_bytes < 1_600_000


def test_every_url_it_names_is_recorded_and_every_object_is_named(recording):
    recorded = {a.url for a in recording.answers}
    named = set(re.findall(r"https?://[\w./-]+\w", _text(recording)))
    hosts_alone = {"https://fonts.demo.test", "http://www.w3.org/2000/svg"}
    assert named - hosts_alone == recorded - {recording.url}


def test_text_is_compressed_on_the_wire_as_real_sites_do(recording):
    text = ("text/html", "text/css", "text/javascript", "application/json", "image/svg+xml")
    assert {a.mime for a in recording.answers if a.coding == "br"} == set(text)
    assert all(a.coding == "br" for a in recording.answers if a.mime in text)


def test_pictures_have_the_pixels_they_are_shown_with(recording):
    for answer in recording.answers:
        if answer.mime in ("image/jpeg", "image/png", "image/webp"):
            with Image.open(io.BytesIO(answer.wire)) as image:
                image.load()
                assert image.format.lower() == answer.mime.removeprefix("image/")
                assert min(image.size) >= 100


def test_fonts_hold_every_letter_the_page_shows(recording):
    document = recording.answers[0].body.decode().partition("<body>")[2]
    archive = recording.answers[-1].body.decode()
    shown = re.sub(r"<[^>]*>", "", document) + re.sub(r'[{}\[\]"_]', "", archive)
    fonts = [a for a in recording.answers if a.mime == "font/woff2"]
    assert len(fonts) == 3
    for answer in fonts:
        with TTFont(io.BytesIO(answer.wire)) as font:
            assert set(shown) - {"\n"} <= {chr(code) for code in font.getBestCmap()}


def test_a_script_makes_the_fonts_that_we_ship(tmp_path):
    root = Path(__file__).parents[3]
    subprocess.run([sys.executable, root / "scripts/fonts.py", tmp_path], check=True)
    shipped = {p.name: p for p in (root / "src/dragstrip/pages/fonts").glob("*.woff2")}
    assert {p.name for p in tmp_path.iterdir()} == set(shipped)
    for name, path in shipped.items():
        assert (tmp_path / name).read_bytes() == path.read_bytes(), name


def test_it_is_the_same_every_time(recording):
    assert demo() == recording
