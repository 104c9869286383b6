"""Makes the demo page as a recording: every object, its host, its type and its headers."""

import hashlib
import math
from collections.abc import Iterator
from importlib.resources import files

import brotli
import msgspec
from PIL import Image

from dragstrip.pages.demo import art
from dragstrip.pages.demo.markup import Story, document
from dragstrip.pages.fonts import font
from dragstrip.pages.format.recording import Recorded, Recording

WWW, STATIC, IMG, FONTS = (f"https://{h}.demo.test" for h in ("www", "static", "img", "fonts"))

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".jpg": "image/jpeg",
    ".png": "image/png",
    ".webp": "image/webp",
    ".woff2": "font/woff2",
}
_TEXT = (".html", ".css", ".js", ".json", ".svg")
_ASSETS = (
    *("css/base.css", "css/layout.css", "css/cards.css"),
    *("js/head.js", "js/ui.js", "js/tides.js", "js/archive.js", "css/type.css"),
    *("icons/moon.svg", "icons/logo.svg", "icons/search.svg", "icons/mail.svg"),
    *("icons/anchor.svg", "icons/rail.svg", "icons/leaf.svg", "icons/wave.svg", "icons/gear.svg"),
)
_WEIGHTS = (300, 400, 700)
_ON_PAGE = 16
"""Number of stories in the document. The others are in the data of the page's archive."""
_MOST_READ = (4, 7, 10, 13, 17, 20)
_WRITERS = {
    "Ines Harrow": "noon",
    "Tomas Quill": "sand",
    "Odile Marsh": "moss",
    "Ruth Okafor": "dawn",
}
_GALLERY = (("sea", "dusk"), ("forest", "noon"), ("tiles", "sand"), ("mountains", "moss"))
_HARBOURS = ("Cold Ferry", "Thrift Island", "Weir Lane", "Saddle Bay", "Fennel Head", "Market Quay")
_TIDE_STEP_MINUTES = 10
_MAP_COLOURS = ("17566a", "2a6d80", "4c8c99", "8ab8b8", "f2e6c8", "dcd8a8", "b8c890", "94b078")


def demo() -> Recording:
    """Return the demo page. The bytes are the same each time with the same versions of Pillow and
    brotli."""
    stories = _stories()
    thumbs = [(stories[i], f"{IMG}/thumbs/{i:02}.webp") for i in _MOST_READ]
    writers = [(n, f"{IMG}/writers/{n.split()[0].lower()}.png") for n in _WRITERS]
    gallery = [f"{IMG}/gallery/{scene}.webp" for scene, _ in _GALLERY]
    html = document(
        _asset("index.html").decode(),
        stories=stories[:_ON_PAGE],
        most_read=thumbs,
        writers=writers,
        gallery=gallery,
    )
    archive = msgspec.json.encode({"cards": stories[_ON_PAGE:]})
    return Recording(
        name="demo",
        url=f"{WWW}/",
        source="generated: the bundled demo page",
        answers=(
            _answer(f"{WWW}/", ".html", html.encode()),
            *(_answer(f"{STATIC}/{path}", _ending(path), _asset(path)) for path in _ASSETS),
            *_fonts(),
            *_story_pictures(stories),
            *(_thumb(story, url) for story, url in thumbs),
            *(_portrait(name, url) for name, url in writers),
            *(_gallery(*painted, url) for painted, url in zip(_GALLERY, gallery, strict=True)),
            _answer(f"{IMG}/map/mile.png", ".png", _map(640, 440)),
            _answer(f"{WWW}/data/tides.json", ".json", msgspec.json.encode(_tides())),
            _answer(f"{WWW}/data/archive.json", ".json", archive),
        ),
    )


def _asset(path: str) -> bytes:
    return files("dragstrip.pages.demo").joinpath("assets", *path.split("/")).read_bytes()


def _ending(path: str) -> str:
    return path[path.rindex(".") :]


def _stories() -> list[Story]:
    stories = msgspec.json.decode(_asset("stories.json"), type=list[Story])
    return [
        msgspec.structs.replace(story, image=f"{IMG}/stories/{number:02}-{story.scene}.jpg")
        for number, story in enumerate(stories)
    ]


def _answer(url: str, ending: str, body: bytes) -> Recorded:
    """Return an answer with the usual headers of a file with this ending."""
    lasting = "no-cache" if ending in (".html", ".json") else "public, max-age=31536000, immutable"
    etag = hashlib.sha256(body).hexdigest()[:16]
    headers = [
        ("content-type", _TYPES[ending]),
        ("cache-control", lasting),
        ("etag", f'"{etag}"'),
        # Fonts and modules come from hosts other than the document's.
        ("access-control-allow-origin", "*"),
        ("server", "demo"),
    ]
    if ending in _TEXT:
        headers += [("content-encoding", "br"), ("vary", "accept-encoding")]
        body = brotli.compress(body, quality=6)
    return Recorded(url=url, status_text="OK", headers=tuple(headers), wire=body)


def _fonts() -> Iterator[Recorded]:
    for name in (f"longshore-{weight}" for weight in _WEIGHTS):
        yield _answer(f"{FONTS}/{name}.woff2", ".woff2", font(name))


def _story_pictures(stories: list[Story]) -> Iterator[Recorded]:
    for number, story in enumerate(stories):
        size = (1366, 600) if number == 0 else (640, 427)
        image = art.paint(story.scene, story.palette, number, *size)
        yield _answer(story.image, ".jpg", art.encode(image, "JPEG", 86))


def _thumb(story: Story, url: str) -> Recorded:
    image = art.paint(story.scene, story.palette, len(story.title), 216, 216)
    return _answer(url, ".webp", art.encode(image, "WEBP", 78))


def _portrait(name: str, url: str) -> Recorded:
    image = art.portrait(_WRITERS[name], len(name), 104)
    return _answer(url, ".png", art.encode(image, "PNG", 0))


def _gallery(scene: str, palette: str, url: str) -> Recorded:
    image = art.paint(scene, palette, 99, 800, 525)
    return _answer(url, ".webp", art.encode(image, "WEBP", 80))


def _map(width: int, height: int) -> bytes:
    levels = art.contours(7, width, height, len(_MAP_COLOURS))
    image = Image.fromarray(levels, mode="P")
    image.putpalette(bytes.fromhex("".join(_MAP_COLOURS)))
    return art.encode(image, "PNG", 0)


def _tides() -> dict[str, object]:
    """Return tide tables with high water about twice a day, a little later in each harbour."""
    steps = range(0, 48 * 60 + 1, _TIDE_STEP_MINUTES)
    return {
        "step_minutes": _TIDE_STEP_MINUTES,
        "nights": [[h * 60 // _TIDE_STEP_MINUTES for h in night] for night in ((0, 7), (20, 31))],
        "harbours": [
            {"name": name, "height_cm": [_tide_cm(t, number) for t in steps]}
            for number, name in enumerate(_HARBOURS)
        ],
    }


def _tide_cm(minute: int, harbour: int) -> int:
    moon = math.cos(math.tau * (minute - 35 * harbour - 130) / 745.2)
    sun = math.cos(math.tau * (minute - 30 * harbour) / 720)
    return round(230 - 14 * harbour + (150 - 11 * harbour) * moon + 34 * sun)
