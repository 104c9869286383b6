"""Draws filmstrips as inline SVG: one row per visit on a common time axis, with curves of progress
below.

Each picture shows the screen at the end of its time span, so a change appears in the picture of the
span in which it happened. Such a picture has a border in its stack's colour.
"""

import base64
import hashlib
import io
from collections.abc import Iterator, Sequence
from html import escape

from dragstrip.browsers.screencast import Frame
from dragstrip.model.stack import Stack
from dragstrip.report.figures import palette
from dragstrip.report.figures.axis import step
from dragstrip.report.pictures.film import Film, picture
from dragstrip.report.words.numbers import duration

WIDTH, LABEL, RIGHT = 1000, 104, 14
"""Drawing units: total width, width of the column of names, and margin for the last axis label."""
_COLUMNS = 12
_GAP = 3
_HEAD, _NAMES, _CURVES = 22, 13, 150
"""Heights of the axis, of a line of marks, and of the curves."""
_PIXELS = 2
"""Pixels of a thumbnail per drawing unit."""
_MARK_ROOM = 74
"""Least distance in drawing units between two marks whose names are on one line."""
_STYLE = (
    "svg.film{width:100%;height:auto;display:block;font-size:10px}"
    "svg.film text{fill:#5c626e}svg.film .name{fill:#1d2129;font-weight:600;font-size:11px}"
    "svg.film .tick{text-anchor:middle}svg.film .share,svg.film .back{text-anchor:end}"
    "svg.film .mark{fill:#1d2129;stroke:#fff;stroke-width:3;paint-order:stroke}"
    "svg.film .grid{stroke:#e6e8ec}"
    "svg.film .same{fill:none;stroke:#dfe2e7}svg.film .new{fill:none;stroke-width:2}"
    "svg.film .level{stroke:#e6e8ec}svg.film .curve{fill:none;stroke-width:2}"
)
"""Style included in the picture, so that it also works alone or on other pages."""


def filmstrip(films: Sequence[Film], stacks: Sequence[Stack], names: Sequence[str]) -> str:
    """Draw the SVG of the films. `stacks` and `names` have the same order as `films`."""
    apart = step(max(film.end_ms for film in films), _COLUMNS, (1, 2, 2.5, 5))
    columns = int(max(film.end_ms for film in films) // apart) + 1
    axis = _Axis(apart, columns)
    top, parts = float(_HEAD), []
    for film, stack, name in zip(films, stacks, names, strict=True):
        drawn, top = _row(film, stack, name, axis, top)
        parts += drawn
    dashes = palette.dashes(stacks)
    parts += _curves(list(zip(films, stacks, dashes, strict=True)), axis, top + 8)
    height = top + 8 + _CURVES + 6
    label = escape("Filmstrips: " + ", ".join(names))
    return (
        f'<svg class="film" viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label="{label}">'
        f"<style>{_STYLE}</style>" + "".join((*_ticks(axis, height - 6), *parts)) + "</svg>"
    )


class _Axis:
    """The time axis. `apart` is the time between columns in ms."""

    def __init__(self, apart: float, columns: int) -> None:
        self.apart, self.columns = apart, columns
        self.pitch = (WIDTH - LABEL - RIGHT) / columns

    def x(self, ms: float) -> float:
        return LABEL + ms / self.apart * self.pitch


def _ticks(axis: _Axis, bottom: float) -> Iterator[str]:
    for i in range(axis.columns + 1):
        x = LABEL + i * axis.pitch
        yield f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{_HEAD - 6}" y2="{bottom:.0f}"/>'
        yield f'<text class="tick" x="{x:.1f}" y="11">{i * axis.apart / 1000:g} s</text>'


def _row(film: Film, stack: Stack, name: str, axis: _Axis, top: float) -> tuple[list[str], float]:
    """Draw the SVG of a strip with its marks; return it with the y of the next strip."""
    width = axis.pitch - _GAP
    size = picture(film.frames[0]).size
    tall = width * size[1] / size[0]
    tint = palette.colour(stack.protocol)
    drawn = [
        f'<rect x="2" y="{top:.1f}" width="4" height="{tall:.1f}" fill="{tint}"/>',
        _text(12, top + 13, name, "name"),
        _text(12, top + 28, duration(film.visit.plt_ms), "about"),
    ]
    ids: dict[float, str] = {}
    for i in range(axis.columns):
        until = (i + 1) * axis.apart
        frame = film.at(until)
        new = film.changed(i * axis.apart, until)
        place = f'x="{axis.x(i * axis.apart) + _GAP / 2:.1f}" y="{top:.1f}"'
        box = f'{place} width="{width:.1f}" height="{tall:.1f}"'
        faded = ' opacity="0.4"' if i * axis.apart > film.end_ms else ""
        if frame.time_ms in ids:
            source = ids[frame.time_ms]
            drawn.append(f'<svg {box}{faded}><use href="#{source}"/></svg>')
        else:
            source = ids[frame.time_ms] = _id(film, name, frame)
            drawn.append(
                f'<svg {box}{faded}><image id="{source}" width="{width:.1f}" '
                f'height="{tall:.1f}" preserveAspectRatio="none" '
                f'href="{_thumbnail(frame, width, tall)}"/></svg>'
            )
        edge = f'class="new" stroke="{tint}"' if new else 'class="same"'
        drawn.append(f"<rect {box} {edge}/>")
    marks, lines = _marks(film, axis, top + tall + 4, tint)
    return drawn + marks, top + tall + 4 + lines * _NAMES + 14


def _marks(film: Film, axis: _Axis, top: float, tint: str) -> tuple[list[str], int]:
    """Draw the SVG of the named moments below a strip; return it with the number of lines that they
    take."""
    lines: list[str] = []
    words: list[str] = []
    ends: list[float] = []
    for name, ms in sorted(film.marks, key=lambda mark: mark[1]):
        x = axis.x(ms)
        back = x > WIDTH - _MARK_ROOM
        left = x - _MARK_ROOM if back else x
        line = next((i for i, end in enumerate(ends) if end <= left), len(ends))
        ends[line : line + 1] = [left + _MARK_ROOM]
        y = top + line * _NAMES
        fill = palette.UNKNOWN if name == "PLT" else tint
        lines.append(f'<path d="M{x:.1f} {top - 3:.1f}V{y + 10:.1f}" stroke="{fill}"/>')
        words.append(
            f'<text class="{"mark back" if back else "mark"}" x="{x + (-4 if back else 4):.1f}" '
            f'y="{y + 9:.1f}">{name} {duration(ms)}</text>'
        )
    return lines + words, len(ends)


def _curves(
    films: Sequence[tuple[Film, Stack, tuple[int, ...]]], axis: _Axis, top: float
) -> Iterator[str]:
    high = _CURVES - 14

    def y(share: float) -> float:
        return top + high * (1 - share)

    right = axis.x(axis.columns * axis.apart)
    for share in (0, 0.5, 0.85, 1):
        yield f'<path class="level" d="M{LABEL} {y(share):.1f}H{right:.1f}"/>'
        yield _text(LABEL - 6, y(share) + 4, f"{share:.0%}", "share")
    yield _text(12, y(1) + 4, "visually", "about")
    yield _text(12, y(1) + 18, "complete", "about")
    for film, stack, dash in films:
        path = f"M{LABEL} {y(0):.1f}" + "".join(
            f"H{axis.x(ms):.1f}V{y(share):.1f}" for ms, share in film.visual.progress
        )
        yield (
            f'<path class="curve" d="{path}H{right:.1f}" '
            f'stroke="{palette.colour(stack.protocol)}" '
            f'stroke-dasharray="{" ".join(map(str, dash))}"/>'
        )


def _id(film: Film, name: str, frame: Frame) -> str:
    """Return an id that is unique among all films of a page."""
    whole = f"{film.visit.id} {name} {frame.time_ms}"
    return "f" + hashlib.sha256(whole.encode()).hexdigest()[:12]


def _thumbnail(frame: Frame, width: float, height: float) -> str:
    small = picture(frame).resize((round(width * _PIXELS), round(height * _PIXELS)))
    kept = io.BytesIO()
    small.save(kept, "JPEG", quality=70)
    return "data:image/jpeg;base64," + base64.b64encode(kept.getvalue()).decode()


def _text(x: float, y: float, text: str, kind: str) -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>'
