"""Paints the demo page's pictures: landscapes, each from a seed and a palette."""

import io
import math
import random
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

Colour = tuple[int, int, int]
Palette = tuple[Colour, ...]
"""Colours of the upper sky, the sky at the horizon, the sun, the far ground and the near ground."""

PALETTES: dict[str, Palette] = {
    "dawn": ((74, 92, 140), (250, 196, 160), (255, 236, 200), (196, 132, 132), (52, 40, 74)),
    "noon": ((72, 150, 204), (214, 236, 242), (255, 255, 244), (120, 172, 172), (24, 74, 82)),
    "dusk": ((38, 36, 84), (240, 128, 98), (255, 210, 120), (136, 72, 108), (24, 18, 46)),
    "moss": ((132, 170, 170), (232, 236, 206), (255, 250, 220), (128, 158, 110), (30, 58, 44)),
    "sand": ((124, 170, 190), (252, 232, 196), (255, 248, 222), (232, 182, 120), (128, 72, 48)),
    "night": ((10, 14, 40), (44, 70, 112), (240, 240, 220), (34, 52, 88), (6, 10, 24)),
}

Plane = npt.NDArray[np.float32]
Polyline = npt.NDArray[np.float64]

_GRAIN = 7


def paint(scene: str, palette: str, seed: int, width: int, height: int) -> Image.Image:
    """Return one picture; `scene` is a key of `SCENES`, `palette` one of `PALETTES`."""
    draw = random.Random(f"{scene}:{seed}")
    colours = PALETTES[palette]
    # The picture is painted at twice the size and shrunk, so that edges are smooth.
    image = SCENES[scene](_sky(colours, draw, 2 * width, 2 * height), colours, draw)
    return _grain(image.reduce(2), draw)


def portrait(palette: str, seed: int, size: int) -> Image.Image:
    """Return a portrait: head and shoulders against a plain wall."""
    draw = random.Random(f"portrait:{seed}")
    coat, wall, _, far, near = PALETTES[palette]
    image = Image.new("RGB", (4 * size, 4 * size), wall)
    pen, s = ImageDraw.Draw(image), 4 * size
    skin = draw.choice([(236, 188, 156), (198, 140, 104), (132, 88, 64), (246, 210, 184)])
    hair = draw.choice([near, _mix(near, far, 0.6), (214, 206, 196), (150, 84, 40)])
    pen.ellipse((0.12 * s, 0.68 * s, 0.88 * s, 1.5 * s), fill=coat)
    pen.rounded_rectangle(
        (0.42 * s, 0.5 * s, 0.58 * s, 0.78 * s), s // 12, fill=_mix(skin, far, 0.3)
    )
    pen.ellipse((0.28 * s, 0.14 * s, 0.72 * s, 0.62 * s), fill=hair)
    pen.ellipse((0.31 * s, 0.22 * s, 0.69 * s, 0.68 * s), fill=skin)
    pen.chord((0.29 * s, 0.14 * s, 0.71 * s, 0.5 * s), 180, 360, fill=hair)
    return _grain(image.reduce(4), draw)


def encode(image: Image.Image, kind: str, quality: int) -> bytes:
    """Return the picture in the format `kind`: ``JPEG``, ``PNG`` or ``WEBP``. PNG ignores
    `quality`."""
    file = io.BytesIO()
    options = {} if kind == "PNG" else {"quality": quality}
    image.save(file, kind, **options)
    return file.getvalue()


def _mix(a: Colour, b: Colour, share: float) -> Colour:
    red, green, blue = (round(x + (y - x) * share) for x, y in zip(a, b, strict=True))
    return red, green, blue


def _noise(draw: random.Random, width: int, height: int, cells: int) -> Plane:
    """Return clouds as values from 0 to 1: octaves of coarse random grids, smoothly enlarged."""
    total = np.zeros((height, width), dtype=np.float32)
    for octave in range(4):
        side = cells << octave
        coarse = Image.frombytes("L", (side, side), draw.randbytes(side * side))
        smooth = coarse.resize((width, height), Image.Resampling.BICUBIC)
        total += np.asarray(smooth, dtype=np.float32) / (255 << octave)
    low, high = total.min(), total.max()
    stretched: Plane = (total - low) / (high - low)
    return stretched


def _image(pixels: Plane) -> Image.Image:
    return Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))


def _grain(image: Image.Image, draw: random.Random) -> Image.Image:
    """Return the picture with film grain. Without grain the picture would compress unlike any
    photograph."""
    pixels = np.asarray(image, dtype=np.int16)
    count = image.width * image.height
    grain = np.frombuffer(draw.randbytes(count), dtype=np.uint8).reshape(pixels.shape[:2])
    shifted = pixels + (grain.astype(np.int16) % (2 * _GRAIN + 1) - _GRAIN)[..., None]
    return Image.fromarray(np.clip(shifted, 0, 255).astype(np.uint8))


def _sky(colours: Palette, draw: random.Random, width: int, height: int) -> Image.Image:
    """Return a sky with a gradient, clouds and a glowing sun or moon."""
    top, horizon, sun = (np.array(c, dtype=np.float32) for c in colours[:3])
    columns, rows = width // 8, height // 8
    y = np.linspace(0, 1, rows, dtype=np.float32)[:, None, None]
    sky = top * (1 - y) + horizon * y
    clouds = np.clip(_noise(draw, columns, rows, 3) - 0.52, 0, 1)[..., None]
    sky = sky + (sun - sky) * clouds * 1.1
    across, down = draw.uniform(0.2, 0.8), draw.uniform(0.18, 0.45)
    grid_y, grid_x = np.ogrid[0:rows, 0:columns]
    away = np.hypot(grid_x / rows - across * columns / rows, grid_y / rows - down)[..., None]
    glow = 0.45 * np.maximum(0, 1 - away / 0.6) ** 3
    image = _image(sky + (sun - sky) * glow.astype(np.float32))
    image = image.resize((width, height), Image.Resampling.BICUBIC)
    at_x, at_y, r = across * width, down * height, 0.085 * height
    disc = (at_x - r, at_y - r, at_x + r, at_y + r)
    ImageDraw.Draw(image).ellipse(disc, fill=colours[2])
    return image


def _ridge(draw: random.Random, width: int, rough: float) -> Polyline:
    """Return the heights of a skyline around 0, at most about 1; `rough` is the weight of its small
    waves."""
    x = np.linspace(0, 1, width)
    line = np.zeros(width)
    for octave in range(7):
        frequency, phase = 1.3 * 2**octave, draw.uniform(0, math.tau)
        line += np.sin(x * frequency * math.tau * draw.uniform(0.8, 1.2) + phase) * rough**octave
    return line / 2


def _ground(image: Image.Image, tops: Polyline, colour: Colour, draw: random.Random) -> None:
    """Paint everything below the skyline `tops` (pixels from above) in one mottled colour."""
    width, height = image.size
    top = max(0, int(tops.min()))
    light = 0.86 + 0.3 * _noise(draw, width // 8, (height - top) // 8, 8)
    texture = _image(np.array(colour, dtype=np.float32) * light[..., None])
    mask = Image.new("L", (width, height - top))
    skyline = [(x, float(y) - top) for x, y in enumerate(tops)]
    ImageDraw.Draw(mask).polygon([(0, height), *skyline, (width, height)], fill=255)
    image.paste(texture.resize(mask.size, Image.Resampling.BILINEAR), (0, top), mask)


def _layers(image: Image.Image, colours: Palette, draw: random.Random, rough: float) -> Image.Image:
    width, height = image.size
    for layer in range(4):
        tops = height * (0.52 + 0.13 * layer - 0.09 * _ridge(draw, width, rough))
        colour = _mix(colours[3], colours[4], layer / 3)
        _ground(image, tops, colour, draw)
    return image


def _hills(image: Image.Image, colours: Palette, draw: random.Random) -> Image.Image:
    return _layers(image, colours, draw, 0.38)


def _mountains(image: Image.Image, colours: Palette, draw: random.Random) -> Image.Image:
    return _layers(image, colours, draw, 0.62)


def _sea(image: Image.Image, colours: Palette, draw: random.Random) -> Image.Image:
    """Return the picture with water that mirrors the sky in streaks, and with sails on the
    water."""
    width, height = image.size
    shore = int(height * 0.58)
    mirror = image.crop((0, 0, width, shore)).transpose(Image.Transpose.FLIP_TOP_BOTTOM)
    size = (width // 2, (height - shore) // 2)
    water = np.asarray(mirror.resize(size), dtype=np.float32)
    streaks = _image(_noise(draw, width // 16, size[1], 24) * 255).resize(size)
    waves = 0.45 + 0.4 * np.asarray(streaks, dtype=np.float32)[..., None] / 255
    water = water * waves + 0.22 * np.array(colours[3], dtype=np.float32)
    _ground(
        image,
        shore - 0.05 * height * np.maximum(0, _ridge(draw, width, 0.5)),
        _mix(colours[3], colours[4], 0.35),
        draw,
    )
    image.paste(_image(water).resize((width, height - shore)), (0, shore))
    pen = ImageDraw.Draw(image)
    for _ in range(draw.randint(1, 4)):
        x, y, s = draw.uniform(0.1, 0.9) * width, draw.uniform(0.6, 0.82) * height, height * 0.11
        pen.polygon([(x, y - s), (x, y), (x + 0.5 * s, y)], fill=colours[2])
        pen.polygon([(x - 4, y - 0.8 * s), (x - 4, y), (x - 0.35 * s, y)], fill=colours[1])
        pen.chord((x - 0.5 * s, y - 0.16 * s, x + 0.65 * s, y + 0.22 * s), 0, 180, fill=colours[4])
    return image


def _city(image: Image.Image, colours: Palette, draw: random.Random) -> Image.Image:
    width, height = image.size
    pen = ImageDraw.Draw(image)
    for layer in range(3):
        wall = _mix(colours[3], colours[4], layer / 2)
        x = 0.0
        while x < width:
            wide = draw.uniform(0.04, 0.1) * width
            roof = height * (0.34 + 0.16 * layer + draw.uniform(0, 0.22))
            pen.rectangle((x, roof, x + wide, height), fill=wall)
            if draw.random() < 0.4:
                pen.polygon([(x, roof), (x + wide / 2, roof - 0.6 * wide), (x + wide, roof)], wall)
            cell = width / 90
            for row in np.arange(roof + cell, height, 2 * cell):
                for column in np.arange(x + cell, x + wide - cell, 2 * cell):
                    if draw.random() < 0.16 + 0.08 * layer:
                        lit = _mix(wall, colours[2], draw.uniform(0.4, 1))
                        pen.rectangle((column, row, column + 0.8 * cell, row + cell), fill=lit)
            x += wide * draw.uniform(0.95, 1.15)
    return image


def _forest(image: Image.Image, colours: Palette, draw: random.Random) -> Image.Image:
    image = _layers(image, colours, draw, 0.3)
    width, height = image.size
    for layer in range(3):
        pen = ImageDraw.Draw(image)
        colour = _mix(colours[3], colours[4], 0.35 + 0.3 * layer)
        for _ in range(26):
            x, size = draw.uniform(0, width), height * draw.uniform(0.16, 0.26) * (1 + 0.3 * layer)
            foot = height * (0.74 + 0.13 * layer)
            for tier in range(3):
                top, half = foot - size * (1 - 0.25 * tier), size * (0.14 + 0.08 * tier)
                shade = _mix(colour, colours[4], draw.uniform(0, 0.3))
                pen.polygon(
                    [(x, top), (x - half, top + 0.5 * size), (x + half, top + 0.5 * size)], shade
                )
    return image


def _tiles(image: Image.Image, colours: Palette, draw: random.Random) -> Image.Image:
    """Return an abstract picture: quarter circles in a grid."""
    width, height = image.size
    side = height // 4
    pen = ImageDraw.Draw(image)
    for top in range(0, height, side):
        for left in range(0, width, side):
            back, front = draw.sample(colours, 2)
            pen.rectangle((left, top, left + side, top + side), fill=back)
            x, y = left - side * draw.randint(0, 1), top - side * draw.randint(0, 1)
            tile = Image.new("L", (side, side))
            ImageDraw.Draw(tile).ellipse(
                (x - left, y - top, x - left + 2 * side, y - top + 2 * side), 255
            )
            image.paste(front, (left, top), tile)
    return image


SCENES: dict[str, Callable[[Image.Image, Palette, random.Random], Image.Image]] = {
    "hills": _hills,
    "mountains": _mountains,
    "sea": _sea,
    "city": _city,
    "forest": _forest,
    "tiles": _tiles,
}


def contours(seed: int, width: int, height: int, levels: int) -> npt.NDArray[np.uint8]:
    """Return a contour map: the index, below `levels`, of each pixel's height, with a line wherever
    the index changes."""
    relief = _noise(random.Random(f"map:{seed}"), width, height, 3)
    fine = np.floor(relief * (levels * 4 - 1)).astype(np.uint8)
    line = (fine != np.roll(fine, 1, axis=0)) | (fine != np.roll(fine, 1, axis=1))
    flat = fine // 4
    return np.where(line, np.where(flat > 3, flat - 1, flat + 1), flat).astype(np.uint8)
