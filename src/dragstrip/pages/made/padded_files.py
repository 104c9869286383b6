"""Makes pictures and fonts of an exact length. Padding goes where each format allows it."""

import io
import math
import struct
from itertools import pairwise

import numpy as np
from PIL import Image

from dragstrip.pages import fonts
from dragstrip.pages.generators.synth import MIN_OBJECT_BYTES, noise_png
from dragstrip.pages.made.text import HTML, fill, noise

_BITS_PER_PIXEL = {"image/jpeg": 2.0, "image/jpg": 2.0, "image/webp": 1.5, "image/avif": 1.0}
_OTHER_BITS_PER_PIXEL = 5.0
_SEEN_FROM_BYTES = 300
"""Bytes below which a picture counts as a tracking pixel, and is not shown."""
_WIDEST = 1_200
_QUALITY = 92
_FULL_BITS_PER_PIXEL = {"JPEG": 4.6, "WEBP": 4.0}
"""Bits per pixel of our pictures at full quality."""
_MOST_PIXELS = 600_000
_DOT_GIF = b"GIF89a\x01\0\x01\0\x80\0\0\xff\xff\xff\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0"
"""A GIF of one pixel, without the file's trailer."""
_WOFF2_LENGTH, _WOFF2_PRIVATE = 8, 40  # offsets of the fields, WOFF2 section 4.1


def box(mime: str, size: int) -> tuple[int, int]:
    """Return the width and height in CSS pixels for a picture of `size` bytes, by the usual bits
    per pixel. The shapes are our choice, because recordings rarely give them. Large pictures are
    wide, others 4:3."""
    if size < _SEEN_FROM_BYTES:
        return 1, 1
    if mime.startswith("image/svg"):
        return 120, 40
    pixels = size * 8 / _BITS_PER_PIXEL.get(mime, _OTHER_BITS_PER_PIXEL)
    ratio = 16 / 9 if pixels > 120_000 else 4 / 3
    width = min(_WIDEST, max(16, round(math.sqrt(pixels * ratio))))
    return width, round(width / ratio)


def picture(mime: str, size: int, shape: tuple[int, int], seed: str) -> bytes:
    """Return a picture of exactly `size` bytes, in the format `mime` if we can write it.

    Browsers detect the format by the first bytes, so they also show another format under that name.
    If `size` is too short for any format, the result is noise.
    """
    if mime.startswith("image/svg"):
        return _svg(size, shape, seed)
    if mime in ("image/jpeg", "image/jpg") and size >= 1_000:
        return _fitted("JPEG", size, shape, seed)
    if mime == "image/webp" and size >= 200:
        return _fitted("WEBP", size, shape, seed)
    if size >= MIN_OBJECT_BYTES and (mime != "image/gif" or size >= _SEEN_FROM_BYTES):
        return noise_png(size, seed)
    if size > len(_DOT_GIF):
        return _dot(size)
    return noise(size, seed)


def font(size: int) -> bytes:
    """Return a WOFF2 font of exactly `size` bytes; noise if `size` is too short for a font."""
    bare = fonts.font("made-400")
    if size < len(bare) + 4:
        return noise(size, "font")
    # The private data block must be the last and begin on a multiple of four bytes.
    begin = -(-len(bare) // 4) * 4
    padded = bytearray(bare.ljust(begin, b"\0") + noise(size - begin, "font"))
    struct.pack_into(">I", padded, _WOFF2_LENGTH, size)
    struct.pack_into(">II", padded, _WOFF2_PRIVATE, begin, size - begin)
    return bytes(padded)


def _dot(size: int) -> bytes:
    """Return a picture of one pixel. The remaining bytes are a comment; if they are too few for a
    comment, they follow the trailer."""
    room = size - len(_DOT_GIF) - 1
    if room < 4:
        return _DOT_GIF + b";" + b"\0" * room
    data = room - 3
    blocks = -(-data // 256)
    inside = noise(data - blocks, "gif")
    # The blocks have equal shares, so that no block is longer than the 255 bytes that it can count.
    cuts = [len(inside) * i // blocks for i in range(blocks + 1)]
    comment = b"".join(bytes([b - a]) + inside[a:b] for a, b in pairwise(cuts) if b > a)
    body = _DOT_GIF + b"!\xfe" + comment + b"\0;"
    return body + b"\0" * (size - len(body))


def _svg(size: int, shape: tuple[int, int], seed: str) -> bytes:
    width, height = shape
    hue = sum(seed.encode()) % 360
    text = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">'
        f'<rect width="{width}" height="{height}" rx="9" fill="hsl({hue},45%,55%)"/></svg>'
    )
    wire, coding = fill([text], size, HTML, seed)
    return noise(size, seed) if coding else wire


def _fitted(form: str, size: int, shape: tuple[int, int], seed: str) -> bytes:
    """Return a picture with as many pixels as its bytes allow, padded to the exact length."""
    frame = 4 if form == "JPEG" else 8
    ratio = shape[0] / shape[1]
    pixels = min(size * 8 / _FULL_BITS_PER_PIXEL[form], _MOST_PIXELS)
    while pixels > 1:
        width = max(1, round(math.sqrt(pixels * ratio)))
        data = _encoded(_painted(width, max(1, round(pixels / width)), seed), form)
        if len(data) == size or len(data) + frame <= size:
            return _padded(form, data, size)
        pixels *= 0.9 * min(1.0, size / len(data))
    return noise(size, seed)


def _encoded(image: Image.Image, form: str) -> bytes:
    file = io.BytesIO()
    image.save(file, form, quality=_QUALITY, method=0)
    return file.getvalue()


def _padded(form: str, data: bytes, size: int) -> bytes:
    room = size - len(data)
    if not room:
        return data
    if form == "WEBP":  # an unknown chunk, which readers skip; its length is even
        inside = room - 8
        chunk = b"PADD" + struct.pack("<I", inside - inside % 2) + noise(inside, "webp")
        whole = bytearray(data + chunk)
        struct.pack_into("<I", whole, 4, len(whole) - 8 - inside % 2)
        return bytes(whole)
    parts = -(-room // 65_537)  # COM segments: marker, length, at most 65,533 bytes
    cuts = [room * i // parts for i in range(parts + 1)]
    comments = b"".join(
        b"\xff\xfe" + struct.pack(">H", b - a - 2) + noise(b - a - 4, "jpeg")
        for a, b in pairwise(cuts)
    )
    return data[:2] + comments + data[2:]


def _painted(width: int, height: int, seed: str) -> Image.Image:
    """Return a picture of soft hills under a sky, with enough grain to fill its bytes."""
    draw = np.random.default_rng(list(seed.encode()))
    across = np.linspace(0, 1, width, dtype=np.float32)[None, :]
    down = np.linspace(0, 1, height, dtype=np.float32)[:, None]
    sky, ground = draw.integers(60, 230, 3), draw.integers(20, 160, 3)
    light = np.broadcast_to(0.6 * down, (height, width))
    colours = [channel + (255 - channel) * light for channel in sky.astype(np.float32)]
    for layer in range(3):
        waves = np.sin(across * draw.uniform(4, 11) + draw.uniform(0, 6)) * draw.uniform(0.03, 0.1)
        hill = down > 0.45 + 0.16 * layer + waves
        for channel, tone in zip(colours, ground, strict=True):
            channel[hill] = tone * (1 - 0.22 * layer)
    grain = draw.integers(-24, 25, (height, width), dtype=np.int8)
    pixels = np.stack([np.clip(c + grain, 0, 255).astype(np.uint8) for c in colours], axis=-1)
    return Image.fromarray(pixels, "RGB")
