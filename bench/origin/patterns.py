"""Pages whose answers meet in a way that a scheduler decides: one object is watched, or all."""

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from dragstrip.pages.format.archive import write_page
from dragstrip.pages.format.recording import Recorded, Recording
from dragstrip.pages.generators.synth import noise_png

SITE = "https://a.test/"
LATE_MS = 600
TOTAL_BYTES = 1_200_000
"""Bytes of all objects on a page with many."""
MANY = (1, 30, 120)
CSS = "text/css"
JS = "text/javascript"
PNG = "image/png"


class Pattern(Struct, frozen=True, kw_only=True):
    """A page. `watched` are endings of the paths whose objects are timed."""

    name: str
    words: str
    watched: str
    body: str
    objects: tuple[Recorded, ...]
    up_mbps: float | None = None
    """The link's rate up, if it matters."""


def patterns() -> Iterator[Pattern]:
    yield Pattern(
        name="late",
        words=f"urgent and late: a style sheet of 5 kB, {LATE_MS} ms after 60 images of 50 kB",
        watched="late.css",
        body=images(60)
        + "<script>setTimeout(()=>{const l=document.createElement('link');l.rel='stylesheet';"
        f"l.href='/late.css';document.head.append(l)}},{LATE_MS})</script>",
        objects=(*(png(n, 50_000) for n in range(60)), text("late.css", CSS, 5_000)),
    )
    yield Pattern(
        name="thinking",
        words="urgent and thinking: an image of 200 kB beside a style sheet that takes a second",
        watched="0.png",
        body='<link rel=stylesheet href="/slow.css">' + images(1),
        objects=(png(0, 200_000), text("slow.css", CSS, 2_000, think_ms=1000.0)),
    )
    yield Pattern(
        name="uploading",
        words="urgent and uploading: an image of 200 kB beside an upload of 150 kB",
        watched="0.png",
        body="<script>fetch('/post',{method:'POST',body:new Uint8Array(150000)})</script>"
        + images(1),
        objects=(png(0, 200_000), text("post", "text/plain", 10, method="POST")),
        up_mbps=1.0,
    )
    for count in MANY:
        size = TOTAL_BYTES // count
        yield Pattern(
            name=f"images-{count}",
            words=f"incremental: {count} images, {TOTAL_BYTES / 1e6} MB",
            watched=".png",
            body=images(count),
            objects=tuple(png(n, size) for n in range(count)),
        )
        yield Pattern(
            name=f"scripts-{count}",
            words=f"one after another: {count} scripts, {TOTAL_BYTES / 1e6} MB",
            watched=".js",
            body="".join(f'<script async src="/{n}.js"></script>' for n in range(count)),
            objects=tuple(text(f"{n}.js", JS, size) for n in range(count)),
        )


def images(count: int) -> str:
    return "".join(f'<img src="/{n}.png" width=9 height=9>' for n in range(count))


def png(number: int, size: int) -> Recorded:
    return _answer(f"{number}.png", PNG, noise_png(size, str(number)))


def text(path: str, kind: str, size: int, **more: object) -> Recorded:
    return _answer(path, kind, b"/*" + b"." * (size - 4) + b"*/", **more)


def _answer(path: str, kind: str, body: bytes, **more: object) -> Recorded:
    return Recorded(url=SITE + path, headers=(("content-type", kind),), wire=body, **more)


def write(pattern: Pattern, folder: Path) -> Path:
    html = f"<!doctype html><title>{pattern.name}</title><body>{pattern.body}".encode()
    recording = Recording(
        name=pattern.name,
        url=SITE,
        source="bench/origin/patterns.py",
        answers=(_answer("", "text/html", html), *pattern.objects),
    )
    path = folder / f"{pattern.name}.har.zip"
    write_page(path, recording)
    return path
