"""Draws the race: one animation of all stacks loading the page side by side, in real time.

The animation is a WebP file, which every browser plays without a player. It has true colours in a
tenth of a GIF's bytes.
"""

import io
import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

from PIL import Image, ImageDraw, ImageFont

from dragstrip.browsers.screencast import Frame
from dragstrip.model.stack import Stack
from dragstrip.report.figures import palette
from dragstrip.report.pictures.film import Film, picture

GRID_MS = 20
"""Time in ms to a multiple of which every change is delayed, because viewers slow down pictures
that last less."""
PAUSE_MS = 3000
"""Time in ms that the last picture stays before the loop restarts."""
LIMIT_BYTES = 3_000_000
_TICKS = 150
"""Number of clock ticks per race. Short races have at least one tick every 100 ms."""
_SCALES = (1.0, 0.75, 0.5, 0.35)
_TILE, _ACROSS, _GAP = 400, 3, 16
_TITLE, _HEAD, _FOOT = 52, 34, 46
"""Heights of the header, and of the space above and below each screen."""
_INK, _SOFT, _LINE, _PAPER = "#1d2129", "#5c626e", "#dfe2e7", "#ffffff"


def race_picture(films: Sequence[Film], stacks: Sequence[Stack], title: str, note: str) -> bytes:
    """Draw the race as a looping WebP. `stacks` and `films` have the same order.

    The picture has the largest scale that fits into `LIMIT_BYTES`, or else the smallest scale.
    """
    made = b""
    for scale in _SCALES:
        made = _encoded(films, _Canvas(films, stacks, title, note, scale))
        if len(made) <= LIMIT_BYTES:
            break
    return made


def moments(films: Sequence[Film]) -> list[int]:
    """Return the times in ms at which the picture changes: at each frame and each tick of the
    clock, rounded to `GRID_MS`."""
    end_ms = max(film.end_ms for film in films)
    tick = max(100, math.ceil(end_ms / _TICKS / GRID_MS) * GRID_MS)
    shown = (frame.time_ms for film in films for frame in film.frames)
    marked = (ms for film in films for _, ms in film.marks)
    wanted = {_on_grid(ms) for ms in (*shown, *marked) if 0 < ms <= end_ms}
    return sorted({0, *wanted, *range(0, _on_grid(end_ms), tick)})


def _on_grid(ms: float) -> int:
    return math.ceil(ms / GRID_MS) * GRID_MS


def _encoded(films: Sequence[Film], canvas: "_Canvas") -> bytes:
    times = moments(films)
    lasts = [after - now for now, after in pairwise(times)]
    kept = io.BytesIO()
    first, *rest = (canvas.draw(ms) for ms in times)
    first.save(
        kept,
        "WEBP",
        save_all=True,
        append_images=rest,
        duration=[*lasts, PAUSE_MS],
        loop=0,
        quality=70,
        method=2,
    )
    return kept.getvalue()


class _Canvas:
    """Draws the race at a given time."""

    def __init__(
        self,
        films: Sequence[Film],
        stacks: Sequence[Stack],
        title: str,
        note: str,
        scale: float,
    ) -> None:
        self._scale = scale
        self._films = films
        self._tints = [palette.colour(s.protocol) for s in stacks]
        self._screens = [_Screen(film, round(_TILE * scale)) for film in films]
        self._base = self._paper(title, note)

    def draw(self, ms: int) -> Image.Image:
        image = self._base.copy()
        pen = ImageDraw.Draw(image)
        for film, screen, tint, (x, y) in zip(
            self._films, self._screens, self._tints, self._places(), strict=True
        ):
            self._tile(image, pen, film, screen, tint, x, y, ms)
        return image

    @property
    def _tall(self) -> int:
        return max(screen.size[1] for screen in self._screens)

    def _px(self, units: float) -> int:
        return round(units * self._scale)

    def _places(self) -> Iterator[tuple[int, int]]:
        """Yield the upper left corner of each screen."""
        across = min(_ACROSS, len(self._films))
        for i in range(len(self._films)):
            row, column = divmod(i, across)
            x = self._px(_GAP + column * (_TILE + _GAP))
            y = self._px(_TITLE + _HEAD) + row * (self._tall + self._px(_HEAD + _FOOT))
            yield x, y

    def _paper(self, title: str, note: str) -> Image.Image:
        across = min(_ACROSS, len(self._films))
        rows = math.ceil(len(self._films) / across)
        width = self._px(_GAP + across * (_TILE + _GAP))
        height = self._px(_TITLE) + rows * (self._tall + self._px(_HEAD + _FOOT))
        image = Image.new("RGB", (width, height), _PAPER)
        pen = ImageDraw.Draw(image)
        pen.text((self._px(_GAP), self._px(12)), title, _INK, self._font(20))
        pen.text((self._px(_GAP), self._px(36)), note, _SOFT, self._font(12))
        return image

    def _tile(
        self,
        image: Image.Image,
        pen: ImageDraw.ImageDraw,
        film: Film,
        screen: "_Screen",
        tint: str,
        x: int,
        y: int,
        ms: int,
    ) -> None:
        width, height = screen.size
        done = ms >= film.end_ms
        image.paste(screen.at(ms), (x, y))
        edge = self._px(4) if done else 1
        outside = (x - edge, y - edge, x + width + edge - 1, y + height + edge - 1)
        pen.rectangle(outside, None, tint if done else _LINE, edge)
        pen.rectangle((x, y - self._px(24), x + self._px(12), y - self._px(12)), tint)
        pen.text((x + self._px(20), y - self._px(29)), film.name, _INK, self._font(18))
        clock = f"finished {film.end_ms / 1000:.2f} s" if done else f"{ms / 1000:.1f} s"
        pen.text((x + width, y - self._px(29)), clock, tint, self._font(18), anchor="ra")
        bar = y + height + self._px(8)
        pen.rectangle((x, bar, x + width, bar + self._px(6)), _LINE)
        if complete := film.complete(ms):
            pen.rectangle((x, bar, x + round(width * complete), bar + self._px(6)), tint)
        said = [f"{_WORDS[name]} {at / 1000:.2f} s" for name, at in film.marks if name in _WORDS]
        reached = [at <= ms for name, at in film.marks if name in _WORDS]
        left = x
        for words, there in zip(said, reached, strict=True):
            if there:
                pen.text((left, bar + self._px(12)), words, _INK, self._font(14))
            left += self._px(_TILE / 3)

    def _font(self, size: float) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
        return ImageFont.load_default(max(8, self._px(size)))


_WORDS = {"FVC": "first change", "LVC": "last change", "PLT": "loaded"}


class _Screen:
    """Scales a film's frames to a tile, and caches the last decoded frame."""

    def __init__(self, film: Film, width: int) -> None:
        self._film = film
        wide, tall = picture(film.frames[0]).size
        self.size = width, round(width * tall / wide)
        self._shown: Frame | None = None
        self._image = Image.new("RGB", self.size, _PAPER)

    def at(self, ms: int) -> Image.Image:
        frame = self._film.at(ms)
        if frame is not self._shown:
            self._shown = frame
            self._image = picture(frame).resize(self.size, Image.Resampling.LANCZOS)
        return self._image
