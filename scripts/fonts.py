"""Writes the web fonts of the pages that we make: centre lines become strokes with round ends.

uv run python scripts/fonts.py [FOLDER]    default: src/dragstrip/pages/fonts
"""

import io
import math
import sys
from itertools import pairwise
from pathlib import Path

from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from fontTools.ttLib.tables._g_l_y_f import Glyph
from glyphs import GLYPHS, Stroke

_FONTS = {
    "longshore-300": ("Longshore", 300, 46),
    "longshore-400": ("Longshore", 400, 74),
    "longshore-700": ("Longshore", 700, 122),
    "made-400": ("Made", 400, 74),
}
"""File name -> family, weight, thickness of a stroke in thousandths of an em."""
_EM = 1000
_SIDE_BEARING = 56
_SPACE = 260
_SHARP_TURN = math.radians(40)
_CAP_POINTS = 8
_MADE = 3_660_000_000  # seconds since 1904, as OpenType counts: fixed, so bytes never change


def main() -> None:
    """Write every font."""
    default = Path(__file__).parents[1] / "src/dragstrip/pages/fonts"
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else default
    folder.mkdir(parents=True, exist_ok=True)
    for name, (family, weight, thickness) in _FONTS.items():
        (folder / f"{name}.woff2").write_bytes(woff2(family, weight, thickness))


def woff2(family: str, weight: int, thickness: float) -> bytes:
    """A WOFF2 font of all glyphs, its strokes `thickness` thousandths of an em wide."""
    names = {char: f"uni{ord(char):04X}" for char in GLYPHS}
    drawn = {names[char]: _glyph(strokes, thickness) for char, strokes in GLYPHS.items()}
    empty = TTGlyphPen(None).glyph()
    glyphs = {".notdef": (empty, _SPACE), "space": (empty, _SPACE), **drawn}

    font = FontBuilder(_EM, isTTF=True)
    font.setupGlyphOrder(list(glyphs))
    font.setupCharacterMap({32: "space", 160: "space", **{ord(c): n for c, n in names.items()}})
    font.setupGlyf({name: glyph for name, (glyph, _) in glyphs.items()})
    lefts = {name: getattr(glyph, "xMin", 0) for name, (glyph, _) in glyphs.items()}
    font.setupHorizontalMetrics({n: (width, lefts[n]) for n, (_, width) in glyphs.items()})
    font.setupHorizontalHeader(ascent=900, descent=-260)
    font.setupOS2(sTypoAscender=900, sTypoDescender=-260, usWeightClass=weight, sxHeight=500)
    font.setupNameTable({"familyName": family, "styleName": f"W{weight}"})
    font.setupPost()
    font.font["head"].created = font.font["head"].modified = _MADE
    font.font.recalcTimestamp = False
    font.font.flavor = "woff2"
    file = io.BytesIO()
    font.font.save(file)
    return file.getvalue()


def _glyph(strokes: list[Stroke], thickness: float) -> tuple[Glyph, int]:
    """The outline and its advance width. Overlapping contours turn alike, so they unite."""
    outlines = [_outline(part, thickness / 2) for s in strokes for part in _smooth_parts(s)]
    left = min(x for outline in outlines for x, _ in outline)
    right = max(x for outline in outlines for x, _ in outline)
    pen = TTGlyphPen(None)
    for outline in outlines:
        points = [(round(x - left + _SIDE_BEARING), round(y)) for x, y in outline]
        pen.moveTo(points[0])
        for point in points[1:]:
            pen.lineTo(point)
        pen.closePath()
    return pen.glyph(), round(right - left) + 2 * _SIDE_BEARING


def _smooth_parts(stroke: Stroke) -> list[Stroke]:
    """The stroke cut at its sharp corners, where round ends then make a round join."""
    parts = [stroke[:1]]
    for i, point in enumerate(stroke[1:], start=1):
        if point == parts[-1][-1]:
            continue
        parts[-1].append(point)
        following = next((p for p in stroke[i + 1 :] if p != point), None)
        if following and _turn(parts[-1][-2], point, following) > _SHARP_TURN:
            parts.append([point])
    return parts


def _turn(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> float:
    turn = _heading(b, c) - _heading(a, b)
    return abs(math.remainder(turn, math.tau))


def _heading(a: tuple[float, float], b: tuple[float, float]) -> float:
    return math.atan2(b[1] - a[1], b[0] - a[0])


def _outline(line: Stroke, radius: float) -> Stroke:
    """Along the left side of a smooth line, round its end, and back along the right side."""
    if len(line) == 1:
        # A dot is a little larger than a stroke, or it looks smaller.
        return _cap(line[0], 0, math.tau, radius * 1.25)
    headings = [_heading(a, b) for a, b in pairwise(line)]
    at = [
        before + math.remainder(after - before, math.tau) / 2
        for before, after in zip(headings[:1] + headings, headings + headings[-1:], strict=True)
    ]
    left = [_beside(p, h + math.pi / 2, radius) for p, h in zip(line, at, strict=True)]
    right = [_beside(p, h - math.pi / 2, radius) for p, h in zip(line, at, strict=True)]
    end = _cap(line[-1], at[-1] + math.pi / 2, -math.pi, radius)
    start = _cap(line[0], at[0] - math.pi / 2, -math.pi, radius)
    return left + end + right[::-1] + start


def _cap(centre: tuple[float, float], start: float, sweep: float, radius: float) -> Stroke:
    count = _CAP_POINTS * 2 if abs(sweep) > math.pi else _CAP_POINTS
    # A dot has to turn clockwise like every other outline.
    step = -abs(sweep) / count
    return [_beside(centre, start + step * i, radius) for i in range(1, count)]


def _beside(point: tuple[float, float], heading: float, distance: float) -> tuple[float, float]:
    return point[0] + distance * math.cos(heading), point[1] + distance * math.sin(heading)


if __name__ == "__main__":
    main()
